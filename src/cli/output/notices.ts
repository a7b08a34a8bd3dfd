/** Notices of the connection: shown at once with --verbose, else only where they explain a failure. */
import { ClientError, type Notice, plainLine } from '../../client/index.ts'
import type { Display } from './display.ts'
import { serverText } from './layout.ts'

const LAST_LINES = 20
const HELD_OPEN =
  'note: A server of the session era holds its call open while it asks, so this one cannot be suspended.'

export function noticesOf(display: Display, verbose: boolean) {
  const lines: string[] = []
  const shown = new Set<string>()
  const noteOnce = (line: string): void => {
    if (!shown.has(line)) display.note(line)
    shown.add(line)
  }
  return {
    onNotice(notice: Notice): void {
      if (notice.kind === 'error' && notice.error.name === 'Suspend') noteOnce(HELD_OPEN)
      else if (notice.kind === 'error' && isAboutAnswers(notice.error)) return noteOnce(noticeText(notice))
      if (verbose) display.note(noticeText(notice))
      else if (notice.kind === 'stderr') lines.splice(0, lines.length, ...[...lines, notice.line].slice(-LAST_LINES))
    },
    /** Shows the last lines of the server's stderr, after the connection has failed. */
    showLast(): void {
      // A server that fails to start is started twice and writes the same lines again, so each is shown once.
      const last = [...new Set(lines.toReversed())].reverse()
      for (const line of last) display.note(noticeText({ kind: 'stderr', line }))
    },
  }
}

/** A server of the session era learns only that there is no answer; the reason is shown to the user who gave the answers. */
function isAboutAnswers(error: Error): boolean {
  return error instanceof ClientError && ANSWER_CODES.has(error.code)
}

const ANSWER_CODES: ReadonlySet<string> = new Set(['QUESTION_UNANSWERED', 'RESPONSE_INVALID'])

function noticeText(notice: Notice): string {
  switch (notice.kind) {
    case 'stderr':
      return `server: ${serverText(notice.line)}`
    case 'error':
      return `note: ${serverText(notice.error.message)}`
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
