import { plainLine } from '../../client/index.ts'
import type { Exchanged } from '../../probe/index.ts'

/** One message as it went or came, for people. The library has made it harmless and hidden its secrets. */
export function explainText({ direction, connection, way, headers, text }: Exchanged, server?: string): string {
  const mark = direction === 'sent' ? '>' : '<'
  const of = server === undefined ? '' : ` (${plainLine(server)})`
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const body = text === '' ? [] : text.split('\n')
  return [`${mark} ${connection} ${way}${of}`, ...[...lines, ...body].map((line) => `    ${line}`)].join('\n')
}
