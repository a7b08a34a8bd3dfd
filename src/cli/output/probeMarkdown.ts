/** Verdicts for a page or a comment. What servers wrote is text there, and nothing else. */
import { plainText } from '../../client/index.ts'
import { decidedText, eraText, percent, type Probed } from './probe.ts'

export function probeMarkdown(all: readonly Probed[]): string {
  const table = ['| server | verdict | sure | era | decided by | why |', '|---|---|---|---|---|---|', ...all.map(row)]
  const sections = all.map(section).filter((text) => text !== '')
  return [table.join('\n'), ...sections].join('\n\n')
}

function row(one: Probed): string {
  const cells =
    'verdict' in one
      ? [
          `**${one.verdict.state}**`,
          percent(one.verdict.confidence),
          eraText(one.verdict),
          decidedText(one.verdict),
          words(one.verdict.message),
        ]
      : ['not probed', '', '', '', words(one.failure.text)]
  return `| ${[escaped(one.name), ...cells].join(' | ')} |`
}

function section(one: Probed): string {
  if (!('verdict' in one) || one.verdict.evidence.length === 0) return ''
  const lines = one.verdict.evidence.map(({ check, points, sentence }) => {
    const to = points === 'UNKNOWN' ? '' : ` (${points})`
    return `- ${check}${to}: ${words(sentence)}`
  })
  return [`### ${escaped(one.name)}`, lines.join('\n')].join('\n\n')
}

/** Words of a server make no links and call nobody: what would is broken by a character that is not seen. */
function words(text: string): string {
  return escaped(text).replace(/:(?=\/\/)|\bwww(?=\.)|@/gi, `$&${WORD_JOINER}`)
}

const WORD_JOINER = '\u2060'

function escaped(text: string): string {
  return plainText(text)
    .replace(/\n+/g, ' ')
    .replace(/[\\`*_[\]<>|!#&~$]/g, '\\$&')
}
