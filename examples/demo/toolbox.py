"""Small helpers that everybody has."""


def clamp(value: float, low: float, high: float) -> float:
    """Keep a value between two bounds, given in either order."""
    if low > high:
        smallest, largest = high, low
    else:
        smallest, largest = low, high
    if value < smallest:
        return smallest
    if value > largest:
        return largest
    return value


def slugify(title: str) -> str:
    """Turn a title into lower-case words joined by hyphens."""
    words = []
    for word in title.lower().split():
        cleaned = ""
        for letter in word:
            if letter.isalnum():
                cleaned += letter
        if cleaned:
            words.append(cleaned)
    return "-".join(words)


def run_lengths(text: str) -> str:
    """Shorten runs of equal letters: aaab becomes a3b1."""
    packed = ""
    start = 0
    while start < len(text):
        end = start
        while end < len(text) and text[end] == text[start]:
            end += 1
        packed += text[start] + str(end - start)
        start = end
    return packed


def digit_sum(number: int, base: int) -> int:
    """Add the digits that a number has in a base from 2 to 36."""
    if base < 2 or base > 36:
        raise ValueError(f"no digits in base {base}")
    rest = number
    if rest < 0:
        rest = -rest
    total = 0
    while rest > 0:
        total += rest % base
        rest = rest // base
    return total


def format_duration(seconds: int) -> str:
    """Write a number of seconds as hours, minutes and seconds."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    minutes = seconds // 60
    hours = minutes // 60
    minutes = minutes % 60
    seconds = seconds % 60
    if hours:
        return f"{hours}h {minutes:02d}m {seconds:02d}s"
    if minutes:
        return f"{minutes}m {seconds:02d}s"
    return f"{seconds}s"


def rotate_letters(text: str, shift: int) -> str:
    """Move every letter along the alphabet, round its end."""
    rotated = ""
    for letter in text:
        if "a" <= letter <= "z":
            place = ord(letter) - ord("a")
            rotated += chr((place + shift) % 26 + ord("a"))
        elif "A" <= letter <= "Z":
            place = ord(letter) - ord("A")
            rotated += chr((place + shift) % 26 + ord("A"))
        else:
            rotated += letter
    return rotated
