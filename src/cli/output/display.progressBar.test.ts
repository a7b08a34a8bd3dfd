import { expect, test } from 'vitest'
import { progressBar, progressLine } from './display.ts'

test.each<[{ progress: number; total?: number; message?: string }, string]>([
  [{ progress: 0, total: 4 }, '[------------------------]   0%'],
  [{ progress: 1, total: 4, message: 'on the stove' }, '[######------------------]  25% on the stove'],
  [{ progress: 4, total: 4 }, '[########################] 100%'],
  [{ progress: 9, total: 4 }, '[########################] 100%'],
  [{ progress: -1, total: 4 }, '[------------------------]   0%'],
  [{ progress: 3, message: 'done' }, '3 done'],
  [{ progress: 3, total: 0 }, '3'],
  [{ progress: 1, total: 4, message: 'x'.repeat(100) }, `[######------------------]  25% ${'x'.repeat(17)}…`],
  [{ progress: 3, message: '\u001b[2Jaway\nand back' }, '3 \ufffd[2Jaway and back'],
])('%j is drawn as %s', (progress, line) => {
  expect(progressLine(progress, 50)).toBe(line)
})

test('a bar is drawn on a terminal only, over itself, and is taken away', () => {
  const written: string[] = []
  const screen = { isTTY: true, columns: 80, write: (text: string) => written.push(text) }
  const bar = progressBar(screen)
  bar.clear()
  bar.update({ progress: 1 })
  bar.hold(true)
  bar.update({ progress: 2 })
  bar.hold(false)
  bar.update({ progress: 3 })
  bar.clear()
  expect(written).toEqual(['\r\u001b[K1', '\r\u001b[K', '\r\u001b[K3', '\r\u001b[K'])
  progressBar({ ...screen, isTTY: false }).update({ progress: 1 })
  expect(written).toHaveLength(4)
})

test('a terminal that does not know its width is taken for one of 80 columns', () => {
  for (const width of [{}, { columns: 0 }]) {
    const written: string[] = []
    const screen = { isTTY: true, write: (text: string) => written.push(text), ...width }
    progressBar(screen).update({ progress: 1, message: 'x'.repeat(200) })
    expect(written).toEqual([`\r\u001b[K1 ${'x'.repeat(76)}…`])
  }
})
