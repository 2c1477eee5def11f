	.file	"t.c"
	.text
.Ltext0:
	.file 1 "t.c"
	.globl	g
	.data
	.align 32
	.type	g, @object
	.size	g, 20
g:
	.long	1
	.long	2
	.long	3
	.zero	8
	.zero	44
	.text
	.type	foo, @function
foo:
.LASANPC0:
.LFB0:
	.loc 1 3 30
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	subq	$48, %rsp
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	movq	%rdi, -56(%rbp)
	movl	%esi, %eax
	movb	%al, -60(%rbp)
	.loc 1 4 7
	call	__sanitizer_cov_trace_pc@PLT
	leaq	-48(%rbp), %rax
	movdqa	.LC0(%rip), %xmm0
	movaps	%xmm0, (%rax)
.LBB2:
	.loc 1 5 12
	movl	$0, -20(%rbp)
	.loc 1 5 3
	jmp	.L2
.L6:
	.loc 1 5 33 discriminator 3
	call	__sanitizer_cov_trace_pc@PLT
	movl	-20(%rbp), %eax
	cltq
	leaq	0(,%rax,4), %rdx
	movq	-56(%rbp), %rax
	leaq	(%rdx,%rax), %r12
	.loc 1 5 28 discriminator 3
	movl	-20(%rbp), %ebx
	movslq	%ebx, %rax
	cmpq	$3, %rax
	jbe	.L3
	.loc 1 5 28 is_stmt 0
	ud2
.L3:
	.loc 1 5 33 is_stmt 1 discriminator 3
	movq	%r12, %rax
	movq	%rax, %rdi
	call	__asan_load4_noabort@PLT
	movl	(%r12), %r12d
	.loc 1 5 31 discriminator 3
	leaq	-48(%rbp), %rax
	movslq	%ebx, %rdx
	salq	$2, %rdx
	addq	%rdx, %rax
	movq	%rax, %rdi
	call	__asan_store4_noabort@PLT
	movslq	%ebx, %rax
	movl	%r12d, -48(%rbp,%rax,4)
	.loc 1 5 21 discriminator 3
	movl	-20(%rbp), %eax
	addl	$1, %eax
	jno	.L13
	ud2
.L13:
	movl	%eax, -20(%rbp)
.L2:
	.loc 1 5 17 discriminator 1
	call	__sanitizer_cov_trace_pc@PLT
	movzbl	-60(%rbp), %eax
	cmpl	%eax, -20(%rbp)
	jl	.L6
.LBE2:
	.loc 1 6 13
	call	__sanitizer_cov_trace_pc@PLT
	movl	-44(%rbp), %r12d
	.loc 1 6 18
	movzbl	-60(%rbp), %ebx
	movslq	%ebx, %rax
	cmpq	$4, %rax
	jbe	.L7
	ud2
.L7:
	movslq	%ebx, %rax
	leaq	0(,%rax,4), %rdx
	movq	g@GOTPCREL(%rip), %rax
	addq	%rdx, %rax
	movq	%rax, %rdi
	call	__asan_load4_noabort@PLT
	movq	g@GOTPCREL(%rip), %rax
	movslq	%ebx, %rdx
	movl	(%rax,%rdx,4), %eax
	.loc 1 6 22
	imull	$3, %eax, %eax
	jno	.L14
	ud2
.L14:
	.loc 1 6 16
	addl	%r12d, %eax
	jno	.L15
	ud2
.L15:
	movl	%eax, %ebx
	call	__sanitizer_cov_trace_pc@PLT
	movl	%ebx, %eax
	.loc 1 6 27
	addq	$48, %rsp
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	foo, .-foo
	.globl	t
	.section	.data.rel.local,"aw"
	.align 32
	.type	t, @object
	.size	t, 8
t:
	.quad	foo
	.zero	56
	.set	.LASAN1,t
	.section	.rodata
.LC1:
	.string	"t.c"
	.section	.data.rel.local
	.align 16
	.type	.LASANLOC1, @object
	.size	.LASANLOC1, 16
.LASANLOC1:
	.quad	.LC1
	.long	7
	.long	7
	.set	.LASAN2,g
	.align 16
	.type	.LASANLOC2, @object
	.size	.LASANLOC2, 16
.LASANLOC2:
	.quad	.LC1
	.long	2
	.long	5
	.section	.rodata
.LC2:
	.string	"t"
.LC3:
	.string	"g"
	.section	.data.rel.local
	.align 32
	.type	.LASAN0, @object
	.size	.LASAN0, 128
.LASAN0:
	.quad	.LASAN1
	.quad	8
	.quad	64
	.quad	.LC2
	.quad	.LC1
	.quad	0
	.quad	.LASANLOC1
	.quad	0
	.quad	.LASAN2
	.quad	20
	.quad	64
	.quad	.LC3
	.quad	.LC1
	.quad	0
	.quad	.LASANLOC2
	.quad	0
	.text
	.type	_sub_D_65535_0, @function
_sub_D_65535_0:
.LFB1:
	.cfi_startproc
	.loc 1 7 1
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	call	__sanitizer_cov_trace_pc@PLT
	movl	$2, %esi
	leaq	.LASAN0(%rip), %rax
	movq	%rax, %rdi
	call	__asan_unregister_globals@PLT
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE1:
	.size	_sub_D_65535_0, .-_sub_D_65535_0
	.section	.fini_array,"aw"
	.align 8
	.quad	_sub_D_65535_0
	.text
	.type	_sub_I_65535_1, @function
_sub_I_65535_1:
.LFB2:
	.cfi_startproc
	.loc 1 7 1
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	call	__sanitizer_cov_trace_pc@PLT
	movl	$2, %esi
	leaq	.LASAN0(%rip), %rax
	movq	%rax, %rdi
	call	__asan_register_globals@PLT
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE2:
	.size	_sub_I_65535_1, .-_sub_I_65535_1
	.section	.init_array,"aw"
	.align 8
	.quad	_sub_I_65535_1
	.section	.rodata
	.align 16
.LC0:
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.byte	-2
	.text
.Letext0:
	.section	.debug_info,"",@progbits
.Ldebug_info0:
	.long	0x103
	.value	0x4
	.long	.Ldebug_abbrev0
	.byte	0x8
	.uleb128 0x1
	.long	.LASF2
	.byte	0xc
	.string	"t.c"
	.long	.LASF3
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.long	.Ldebug_line0
	.uleb128 0x2
	.string	"u8"
	.byte	0x1
	.byte	0x1
	.byte	0x21
	.long	0x38
	.uleb128 0x3
	.byte	0x1
	.byte	0x8
	.long	.LASF0
	.uleb128 0x4
	.long	0x56
	.long	0x4f
	.uleb128 0x5
	.long	0x4f
	.byte	0x4
	.byte	0
	.uleb128 0x3
	.byte	0x8
	.byte	0x7
	.long	.LASF1
	.uleb128 0x6
	.byte	0x4
	.byte	0x5
	.string	"int"
	.uleb128 0x7
	.string	"g"
	.byte	0x1
	.byte	0x2
	.byte	0x5
	.long	0x3f
	.uleb128 0x9
	.byte	0x3
	.quad	g
	.uleb128 0x7
	.string	"t"
	.byte	0x1
	.byte	0x7
	.byte	0x7
	.long	0x85
	.uleb128 0x9
	.byte	0x3
	.quad	t
	.uleb128 0x8
	.byte	0x8
	.uleb128 0x9
	.string	"foo"
	.byte	0x1
	.byte	0x3
	.byte	0xc
	.long	0x56
	.quad	.LFB0
	.quad	.LFE0-.LFB0
	.uleb128 0x1
	.byte	0x9c
	.long	0xf4
	.uleb128 0xa
	.string	"p"
	.byte	0x1
	.byte	0x3
	.byte	0x15
	.long	0xf4
	.uleb128 0x3
	.byte	0x91
	.sleb128 -72
	.uleb128 0xa
	.string	"b"
	.byte	0x1
	.byte	0x3
	.byte	0x1b
	.long	0x2d
	.uleb128 0x3
	.byte	0x91
	.sleb128 -76
	.uleb128 0xb
	.string	"loc"
	.byte	0x1
	.byte	0x4
	.byte	0x7
	.long	0xfa
	.uleb128 0x2
	.byte	0x91
	.sleb128 -64
	.uleb128 0xc
	.quad	.LBB2
	.quad	.LBE2-.LBB2
	.uleb128 0xb
	.string	"i"
	.byte	0x1
	.byte	0x5
	.byte	0xc
	.long	0x56
	.uleb128 0x2
	.byte	0x91
	.sleb128 -36
	.byte	0
	.byte	0
	.uleb128 0xd
	.byte	0x8
	.long	0x56
	.uleb128 0xe
	.long	0x56
	.uleb128 0x5
	.long	0x4f
	.byte	0x3
	.byte	0
	.byte	0
	.section	.debug_abbrev,"",@progbits
.Ldebug_abbrev0:
	.uleb128 0x1
	.uleb128 0x11
	.byte	0x1
	.uleb128 0x25
	.uleb128 0xe
	.uleb128 0x13
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x1b
	.uleb128 0xe
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x10
	.uleb128 0x17
	.byte	0
	.byte	0
	.uleb128 0x2
	.uleb128 0x16
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x3
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0xe
	.byte	0
	.byte	0
	.uleb128 0x4
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0x5
	.uleb128 0x21
	.byte	0
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2f
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x6
	.uleb128 0x24
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x3e
	.uleb128 0xb
	.uleb128 0x3
	.uleb128 0x8
	.byte	0
	.byte	0
	.uleb128 0x7
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x3f
	.uleb128 0x19
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0x8
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.byte	0
	.byte	0
	.uleb128 0x9
	.uleb128 0x2e
	.byte	0x1
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x27
	.uleb128 0x19
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.uleb128 0x40
	.uleb128 0x18
	.uleb128 0x2116
	.uleb128 0x19
	.uleb128 0x1
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xa
	.uleb128 0x5
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xb
	.uleb128 0x34
	.byte	0
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x3a
	.uleb128 0xb
	.uleb128 0x3b
	.uleb128 0xb
	.uleb128 0x39
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.uleb128 0x2
	.uleb128 0x18
	.byte	0
	.byte	0
	.uleb128 0xc
	.uleb128 0xb
	.byte	0x1
	.uleb128 0x11
	.uleb128 0x1
	.uleb128 0x12
	.uleb128 0x7
	.byte	0
	.byte	0
	.uleb128 0xd
	.uleb128 0xf
	.byte	0
	.uleb128 0xb
	.uleb128 0xb
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.uleb128 0xe
	.uleb128 0x1
	.byte	0x1
	.uleb128 0x49
	.uleb128 0x13
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_aranges,"",@progbits
	.long	0x2c
	.value	0x2
	.long	.Ldebug_info0
	.byte	0x8
	.byte	0
	.value	0
	.value	0
	.quad	.Ltext0
	.quad	.Letext0-.Ltext0
	.quad	0
	.quad	0
	.section	.debug_line,"",@progbits
.Ldebug_line0:
	.section	.debug_str,"MS",@progbits,1
.LASF1:
	.string	"long unsigned int"
.LASF2:
	.ascii	"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -gdwarf-4 -O0"
	.ascii	" -std=gnu17 -fPIC -fno-builtin -fsanitize=kernel-address -fs"
	.ascii	"anitize=bounds,signed-integer-overflow,shift-exponent,intege"
	.string	"r-divide-by-zero,float-cast-overflow -fsanitize-undefined-trap-on-error -fsanitize-coverage=trace-pc -ftrivial-auto-var-init=pattern --param=asan-instrumentation-with-call-threshold=0 --param=asan-stack=0 --param=asan-globals=1 -fasynchronous-unwind-tables"
.LASF3:
	.string	"/work/h/c/.scratch"
.LASF0:
	.string	"unsigned char"
	.ident	"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0"
	.section	.note.GNU-stack,"",@progbits
