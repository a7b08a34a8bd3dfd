/**
 * Makes text that a server wrote safe for a terminal. Characters that could move the cursor, change colours, title or
 * clipboard, change the writing direction, or are invisible become a visible mark. Characters are replaced and not
 * removed, so that different texts look different.
 */

const MARK = '\ufffd'

// Line breaks are replaced before. Joiners and variation selectors are part of words and emoji, so they stay.
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]|(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
const LINE_BREAK = /\r\n|[\n\r\u2028\u2029\u0085\v\f]/g
// Characters of two columns: East Asian scripts and emoji. Exact enough to wrap lines.
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
// Many combining marks on one character cover the lines above and below.
const EXCESS_MARKS = /(\p{M}{4})\p{M}+/gu

/** One line of at most `max` characters. */
export function plainLine(text: string, max = 200): string {
  return cut(clean(text.slice(0, 4 * max).replace(LINE_BREAK, ' ')).trim(), max)
}

/** Lines of at most `width` columns, broken between words; cut after `maxLines`, with a note of how much is missing. */
export function plainLines(text: string, { width, maxLines }: { width: number; maxLines: number }): string[] {
  // Only as much as can be shown is processed.
  const start = text.slice(0, 4 * width * maxLines)
  const lines = start.split(LINE_BREAK).flatMap((line) => wrap(clean(line).trimEnd(), width))
  if (lines.length <= maxLines && start.length === text.length) return lines
  const shown = lines.slice(0, maxLines)
  return [...shown, `… (cut; the whole text has ${text.length} characters)`]
}

/** The whole text, with its own lines and tabs. */
export function plainText(text: string): string {
  const lines = text.split(LINE_BREAK)
  return lines.map((line) => line.split('\t').map(clean).join('\t')).join('\n')
}

/** The whole text, broken at `width` columns. For an address, of which people must see everything. */
export function wholeLines(text: string, width: number): string[] {
  return fill(Array.from(clean(text)), width)
}

/** Whether a text is shown unchanged, on one line. */
export function isPlainLine(text: string): boolean {
  return clean(text) === text
}

function clean(text: string): string {
  return text.replace(/\t/g, ' ').replace(UNSAFE, MARK).replace(EXCESS_MARKS, `$1${MARK}`)
}

function cut(text: string, max: number): string {
  const characters = Array.from(text)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

/** Breaks between words. A word longer than a line is broken at the end of the line. */
function wrap(line: string, width: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    const joined = current === '' ? word : `${current} ${word}`
    if (columns(joined) <= width) {
      current = joined
      continue
    }
    if (current !== '') lines.push(current)
    const pieces = fill(Array.from(word), width)
    lines.push(...pieces.slice(0, -1))
    current = pieces.at(-1) ?? ''
  }
  return [...lines, current]
}

function fill(characters: readonly string[], width: number): string[] {
  const lines: string[] = []
  let [current, used] = ['', 0]
  for (const character of characters) {
    const needed = columns(character)
    if (used + needed > width) {
      lines.push(current)
      ;[current, used] = ['', 0]
    }
    current += character
    used += needed
  }
  return current === '' ? lines : [...lines, current]
}

function columns(text: string): number {
  return Array.from(text).reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0)
}
