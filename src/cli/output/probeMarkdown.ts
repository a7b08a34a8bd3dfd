/** Verdicts as Markdown. Text of servers is escaped. */
import { plainText } from '../../client/index.ts'
import { decidedText, eraText, percent, type Probed, processText, protocolText } from './probe.ts'

export function probeMarkdown(all: readonly Probed[]): string {
  const table = [
    '| server | verdict | sure | protocol | process | era | decided by | why |',
    '|---|---|---|---|---|---|---|---|',
    ...all.map(row),
  ]
  const sections = all.map(section).filter((text) => text !== '')
  return [table.join('\n'), ...sections].join('\n\n')
}

function row(one: Probed): string {
  const cells =
    'verdict' in one
      ? [
          `**${one.verdict.state}**`,
          percent(one.verdict.confidence),
          protocolText(one.verdict),
          processText(one.verdict),
          eraText(one.verdict),
          decidedText(one.verdict),
          serverMarkdown(one.verdict.message),
        ]
      : ['not probed', '', '', '', '', '', serverMarkdown(one.failure.text)]
  return `| ${[escapeMarkdown(one.name), ...cells].join(' | ')} |`
}

function section(one: Probed): string {
  if (!('verdict' in one) || one.verdict.evidence.length + one.verdict.process.because.length === 0) return ''
  const lines = one.verdict.evidence.map(({ check, points, sentence }) => {
    const to = points === 'UNKNOWN' ? '' : ` (${points})`
    return `- ${check}${to}: ${serverMarkdown(sentence)}`
  })
  const kept = one.verdict.process.because.map((sentence) => `- process: ${serverMarkdown(sentence)}`)
  const clients = (one.verdict.cells ?? []).map(({ sentence }) => `- through a gateway: ${serverMarkdown(sentence)}`)
  return [`### ${escapeMarkdown(one.name)}`, [...lines, ...kept, ...clients].join('\n')].join('\n\n')
}

/** Escapes text of a server, and breaks autolinks and mentions with an invisible word joiner. */
function serverMarkdown(text: string): string {
  return escapeMarkdown(text).replace(/:(?=\/\/)|\bwww(?=\.)|@/gi, `$&${WORD_JOINER}`)
}

const WORD_JOINER = '\u2060'

function escapeMarkdown(text: string): string {
  return plainText(text)
    .replace(/\n+/g, ' ')
    .replace(/[\\`*_[\]<>|!#&~$]/g, '\\$&')
}
