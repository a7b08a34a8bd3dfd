/** A line as lines of at most `width` characters, broken between words. A longer word stays whole. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let current = ''
  for (const word of text.split(' ')) {
    const joined = current === '' ? word : `${current} ${word}`
    if (current !== '' && Array.from(joined).length > width) {
      lines.push(current)
      current = word
    } else current = joined
  }
  return [...lines, current]
}
