package funcmem.harness;

import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.code.Kinds;
import com.sun.tools.javac.tree.JCTree;
import java.util.List;

/** Makes up what one error of the compiler says is missing. */
final class Repair extends Bench {
    private final Shaping shaping = new Shaping(this);
    private final Missing missing = new Missing(this, shaping);
    private final Fitting fitting = new Fitting(this, shaping);

    Repair(Stubs stubs, JCTree.JCCompilationUnit unit, BasicJavacTask task) {
        super(stubs, unit, task);
    }

    List<Edit> edits() {
        return edits;
    }

    /** How a constructor of a class calls its parent's without having anything to give; "" where that goes unsaid. */
    String chain(JCTree.JCClassDecl owner) {
        return owner == null || owner.sym == null ? "" : shaping.chain(owner.sym);
    }

    /** Made-up bodies of what a class inherits without one. */
    List<String> bodies(com.sun.tools.javac.code.Symbol.ClassSymbol type) {
        return shaping.bodies(type, true);
    }

    /** Something in a made-up type: a member whose type cannot be written there gets another. */
    boolean inStub(Preparation.Problem problem) {
        Stubs.Member member = stubs.memberAt(problem.unit().path, problem.line());
        if (member != null && member.retype(member.isMethod ? null : "Object")) {
            return true;
        }
        for (Stubs.StubType type : stubs.types.values()) {
            if (problem.unit().path.equals("stubs/" + type.qualified().replace('.', '/') + ".java") && problem.line() == 1) {
                boolean had = type.superType != null || !type.interfaces.isEmpty();
                type.superType = null;
                type.interfaces.clear();
                return had;
            }
        }
        return false;
    }

    /** Whether an error is about what types there are, and so comes before all others. */
    static boolean isStructural(Preparation.Problem problem) {
        String kind = problem.code().replace("compiler.err.", "");
        Object[] arguments = problem.diagnostic().getArgs();
        return switch (kind) {
            case "doesnt.exist", "package.not.visible", "type.doesnt.take.params", "wrong.number.type.args",
                    "intf.expected.here", "no.intf.expected.here", "not.annotation.type", "cant.inherit.from.final" -> true;
            default -> kind.startsWith("cant.resolve") && arguments.length > 0
                    && (arguments[0] == Kinds.KindName.CLASS || arguments[0] == Kinds.KindName.INTERFACE
                    || arguments[0] == Kinds.KindName.ANNOTATION || arguments[0] == Kinds.KindName.ENUM
                    || arguments[0] == Kinds.KindName.STATIC);
        };
    }

    boolean mend(Preparation.Problem problem) {
        JCTree tree = problem.diagnostic().getDiagnosticPosition().getTree();
        String kind = problem.code().replace("compiler.err.", "");
        if (tree == null) {
            tree = uses.at(problem.position());
        }
        if (tree == null) {
            return false;
        }
        if (kind.startsWith("cant.resolve")) {
            return missing.unresolved(problem, tree);
        }
        Object[] arguments = problem.diagnostic().getArgs();
        return switch (kind) {
            case "doesnt.exist", "package.not.visible" -> missing.missingPackage(tree);
            case "preview.feature.disabled.plural", "preview.feature.disabled" -> fitting.switched(tree);
            case "prob.found.req", "void.not.allowed.here", "illegal.initializer.for.type", "illegal.start.of.type" -> fitting.mismatched(tree, arguments);
            case "foreach.not.applicable.to.type" -> fitting.operands(tree) || shaping.iterable(tree);
            case "operator.cant.be.applied.1", "operator.cant.be.applied", "incomparable.types", "array.req.but.found",
                    "not.stmt" -> fitting.operands(tree);
            case "override.incompatible.ret", "override.meth.doesnt.throw", "override.weaker.access", "override.static",
                    "override.meth", "name.clash.same.erasure.no.override" -> shaping.redeclared(tree);
            case "not.within.bounds" -> fitting.bounded(arguments);
            case "cant.apply.symbol", "cant.apply.symbols", "cant.apply.diamond.1" -> fitting.misapplied(tree);
            case "ref.ambiguous" -> fitting.ambiguous(tree, arguments) || fitting.misapplied(tree);
            case "cant.deref" -> fitting.operands(tree);
            case "non-static.cant.be.ref" -> shaping.makeStatic(arguments);
            case "except.never.thrown.in.try" -> shaping.throwing(tree, arguments);
            case "unreported.exception.need.to.catch.or.throw", "unreported.exception.default.constructor",
                    "unreported.exception.implicit.close" -> shaping.notThrowing(tree, arguments)
                    || tree instanceof JCTree.JCMethodInvocation call && shaping.open(call.meth);
            case "intf.expected.here" -> shaping.kind(tree, Stubs.Kind.INTERFACE);
            case "no.intf.expected.here" -> shaping.kind(tree, Stubs.Kind.CLASS);
            case "not.annotation.type" -> shaping.kind(tree, Stubs.Kind.ANNOTATION);
            case "abstract.cant.be.instantiated" -> shaping.kind(tree, Stubs.Kind.CLASS);
            case "wrong.number.type.args", "cant.apply.diamond", "type.doesnt.take.params" -> shaping.arity(tree);
            case "does.not.override.abstract" -> shaping.makeAbstract(tree);
            case "const.expr.req", "string.const.req", "enum.label.must.be.known.enum.constant", "enum.label.must.be.enum.constant",
                    "enum.label.must.be.unqualified.enum", "enum.label.must.be.unqualified.enum.constant" -> shaping.constant(tree);
            case "var.might.not.have.been.initialized", "var.might.already.be.assigned", "var.not.initialized.in.default.constructor",
                    "cant.assign.val.to.var", "cant.assign.val.to.final.var" -> shaping.notFinal(arguments);
            case "not.def.public.cant.access", "not.def.access.class.intf.cant.access", "report.access" -> shaping.open(tree);
            case "method.does.not.override.superclass" -> shaping.overridden(tree);
            case "static.imp.only.classes.and.interfaces" -> false;
            default -> false;
        };
    }
}
