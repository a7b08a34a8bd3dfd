/** A unified diff of two texts, by lines (the algorithm of Myers). */

type Line = readonly [kind: ' ' | '-' | '+', text: string]

const CONTEXT = 3

export function unifiedDiff(path: string, before: string, after: string): string {
  const lines = diffLines(linesOf(before), linesOf(after))
  const hunks = hunksOf(lines).map((hunk) => hunkText(lines, hunk))
  return [`--- a/${path}`, `+++ b/${path}`, ...hunks].join('\n')
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}\n\\ No newline at end of file`]
}

function diffLines(a: readonly string[], b: readonly string[]): Line[] {
  const steps = shortestPath(a, b)
  const lines: Line[] = []
  let [x, y] = [a.length, b.length]
  for (const furthest of steps.toReversed()) {
    const k = x - y
    const down = k === -furthest.depth || (k !== furthest.depth && at(furthest, k - 1) < at(furthest, k + 1))
    const before = furthest.depth === 0 ? 0 : down ? at(furthest, k + 1) : at(furthest, k - 1)
    const beforeY = furthest.depth === 0 ? 0 : before - (down ? k + 1 : k - 1)
    while (x > before && y > beforeY) {
      lines.push([' ', a[x - 1] ?? ''])
      x--
      y--
    }
    if (furthest.depth === 0) break
    lines.push(down ? ['+', b[y - 1] ?? ''] : ['-', a[x - 1] ?? ''])
    ;[x, y] = [before, beforeY]
  }
  return lines.toReversed()
}

/** How far each diagonal reached before this many edits. */
interface Step {
  readonly depth: number
  readonly reached: ReadonlyMap<number, number>
}

const at = ({ reached }: Step, k: number): number => reached.get(k) ?? -1

function shortestPath(a: readonly string[], b: readonly string[]): Step[] {
  const steps: Step[] = []
  const reached = new Map([[1, 0]])
  for (let depth = 0; depth <= a.length + b.length; depth++) {
    steps.push({ depth, reached: new Map(reached) })
    for (let k = -depth; k <= depth; k += 2) {
      const [left, right] = [reached.get(k - 1) ?? -1, reached.get(k + 1) ?? -1]
      let x = k === -depth || (k !== depth && left < right) ? right : left + 1
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++
      reached.set(k, x)
      if (x >= a.length && x - k >= b.length) return steps
    }
  }
  return steps
}

interface Hunk {
  readonly from: number
  readonly to: number
}

function hunksOf(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = []
  for (const [index, [kind]] of lines.entries()) {
    if (kind === ' ') continue
    const [from, to] = [Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1)]
    const last = hunks.at(-1)
    if (last !== undefined && from <= last.to) hunks[hunks.length - 1] = { from: last.from, to }
    else hunks.push({ from, to })
  }
  return hunks
}

function hunkText(lines: readonly Line[], { from, to }: Hunk): string {
  const count = (part: readonly Line[], kind: '-' | '+'): number =>
    part.filter(([one]) => one === ' ' || one === kind).length
  const [head, part] = [lines.slice(0, from), lines.slice(from, to)]
  const range = (kind: '-' | '+'): string =>
    `${count(head, kind) + (count(part, kind) > 0 ? 1 : 0)},${count(part, kind)}`
  return [`@@ -${range('-')} +${range('+')} @@`, ...part.map(([kind, text]) => kind + text)].join('\n')
}

/** The number in the new text of a line of the old text; for a removed line, the number of its replacement. */
export function lineAfter(before: string, after: string, line: number): number {
  let [old, now] = [0, 0]
  const wanted = before.split('\n')[line - 1]?.trim()
  const lines = diffLines(linesOf(before), linesOf(after))
  for (const [kind] of lines) {
    if (kind !== '+') old++
    if (kind !== '-') now++
    if (old === line && kind !== '+') {
      const moved = kind === '-' ? addedAt(lines, wanted) : undefined
      return moved ?? Math.max(1, now)
    }
  }
  return line
}

/** The only added line with this text. */
function addedAt(lines: readonly Line[], wanted: string | undefined): number | undefined {
  let now = 0
  const found: number[] = []
  for (const [kind, text] of lines) {
    if (kind !== '-') now++
    if (kind === '+' && text.trim() === wanted) found.push(now)
  }
  return found.length === 1 ? found[0] : undefined
}
