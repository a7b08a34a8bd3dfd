/** What happens beside the calls: told at once with --verbose, else only when it explains why nothing works. */
import { ClientError, type Notice, plainLine } from '../../client/index.ts'
import type { Display } from './display.ts'
import { serverWords } from './layout.ts'

const LAST_LINES = 20
const HELD_OPEN = 'note: A server of the older era holds its call open while it asks, so this one cannot be suspended.'

export function noticesOf(display: Display, verbose: boolean) {
  const lines: string[] = []
  const told = new Set<string>()
  const tellOnce = (line: string): void => {
    if (!told.has(line)) display.note(line)
    told.add(line)
  }
  return {
    hear(notice: Notice): void {
      if (notice.kind === 'error' && notice.error.name === 'Suspend') tellOnce(HELD_OPEN)
      else if (notice.kind === 'error' && isOfAnswers(notice.error)) return tellOnce(noticeText(notice))
      if (verbose) display.note(noticeText(notice))
      else if (notice.kind === 'stderr') lines.splice(0, lines.length, ...[...lines, notice.line].slice(-LAST_LINES))
    },
    /** The connection failed: now it matters what the server's process said last. */
    tellLast(): void {
      // A server that did not start is started twice, and says the same again: the second time is the whole of it.
      const last = [...new Set(lines.toReversed())].reverse()
      for (const line of last) display.note(noticeText({ kind: 'stderr', line }))
    },
  }
}

/** An older server is told only that there is no answer; why is for whoever gave the answers. */
function isOfAnswers(error: Error): boolean {
  return error instanceof ClientError && OF_ANSWERS.has(error.code)
}

const OF_ANSWERS: ReadonlySet<string> = new Set(['QUESTION_UNANSWERED', 'RESPONSE_INVALID'])

function noticeText(notice: Notice): string {
  switch (notice.kind) {
    case 'stderr':
      return `server: ${serverWords(notice.line)}`
    case 'error':
      return `note: ${serverWords(notice.error.message)}`
    case 'refused':
      return `note: refused "${plainLine(notice.refused.method)}" of the server. ${plainLine(notice.refused.reason)}`
    case 'jar':
      return `note: state ${plainLine(notice.news.name)} ${notice.news.kind}: ${plainLine(notice.news.reason)}`
    case 'unkept':
      return `note: ${plainLine(notice.reason)}`
    default:
      return notice satisfies never
  }
}
