# Letters of paragraphs of forty lines: vowels, digits, the rest.
{
    text = text $0
    if (NR % 40 == 0) {
        n = length(text)
        for (i = 1; i <= n; i++) {
            c = substr(text, i, 1)
            if (c == "e") e++
            else if (c >= "0" && c <= "9") digits++
            else if (c == " ") spaces++
        }
        text = ""
    }
}
END { print e, digits, spaces }
