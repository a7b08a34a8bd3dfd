/** The difference of two texts by words. */
export interface DiffPart {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
}

/** Beyond this, the middle of a text counts as replaced as a whole: the comparison takes words times words. */
const MAX_CELLS = 4_000_000

export function wordDiff(before: string, after: string): readonly DiffPart[] {
  const [old, now] = [wordsOf(before), wordsOf(after)]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const parts: DiffPart[] = [
    { kind: 'same', text: old.slice(0, start).join('') },
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    { kind: 'same', text: old.slice(old.length - end).join('') },
  ]
  return parts.filter(({ text }) => text !== '')
}

/** Words, spaces and single signs. */
function wordsOf(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []
}

function middle(old: readonly string[], now: readonly string[]): readonly DiffPart[] {
  const isLarge = old.length * now.length > MAX_CELLS
  const parts = isLarge ? [] : aligned(old, now)
  return isLarge
    ? [
        { kind: 'gone', text: old.join('') },
        { kind: 'new', text: now.join('') },
      ]
    : parts
}

/** By the longest common subsequence, whose lengths are computed from the ends. */
function aligned(old: readonly string[], now: readonly string[]): readonly DiffPart[] {
  const width = now.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = old.length - 1; row >= 0; row--)
    for (let column = now.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        old[row] === now[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
  const parts: { kind: DiffPart['kind']; text: string }[] = []
  const add = (kind: DiffPart['kind'], text = ''): void => {
    const last = parts.at(-1)
    if (last?.kind === kind) last.text += text
    else parts.push({ kind, text })
  }
  let [row, column] = [0, 0]
  while (row < old.length || column < now.length) {
    if (row < old.length && old[row] === now[column]) {
      add('same', old[row])
      row++
      column++
    } else if (column >= now.length || (row < old.length && at(row + 1, column) >= at(row, column + 1)))
      add('gone', old[row++])
    else add('new', now[column++])
  }
  return parts
}
