/** Withheld tools as text for a terminal: what changed in their definitions, line by line. */
import { plainLine, plainText } from '../../client/index.ts'
import type { OfferedTool } from '../../gateway/catalog/index.ts'
import { alignColumns } from './layout.ts'

/** Tools with new or changed definitions, by the names under which the gateway lists them. */
export function offeredText(offered: readonly OfferedTool[], nameOfTool: (tool: OfferedTool) => string): string {
  if (offered.length === 0) return 'No tool is withheld.'
  const table = alignColumns([
    ['TOOL', 'SERVER', 'WHAT CHANGED'],
    ...offered.map((each) => [
      plainLine(nameOfTool(each), 64),
      plainLine(each.server, 40),
      plainLine(each.change, 500),
    ]),
  ])
  return [table, ...offered.flatMap((each) => partTexts(each, plainLine(nameOfTool(each), 64)))].join('\n\n')
}

/** The changed parts of a definition, whole, so that nothing is accepted unread. */
function partTexts({ news = {}, was }: OfferedTool, name: string): readonly string[] {
  const parts = [...new Set([...Object.keys(was), ...Object.keys(news)])]
  return parts.map((part) => {
    const [before, after] = [was[part], news[part]].map((text) =>
      text === undefined ? undefined : plainText(text).split('\n'),
    )
    const head = `${name}, ${plainLine(part, 100)}`
    if (before === undefined) return [`${head} is now:`, ...marked('  ', after ?? [])].join('\n')
    return [`${head}${after === undefined ? ' was removed' : ''}:`, ...difference(before, after ?? [])].join('\n')
  })
}

/** Lines that are the same at both ends, and between them those of before and after. */
function difference(before: readonly string[], after: readonly string[]): readonly string[] {
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && before[start] === after[start]) start++
  let end = 0
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return [
    ...marked('  ', before.slice(0, start)),
    ...marked('- ', before.slice(start, before.length - end)),
    ...marked('+ ', after.slice(start, after.length - end)),
    ...marked('  ', before.slice(before.length - end)),
  ]
}

function marked(mark: string, lines: readonly string[]): readonly string[] {
  return lines.map((line) => `${mark}${line}`)
}
