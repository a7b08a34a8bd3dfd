/** What happens beside the calls: told at once with --verbose, else only when it explains why nothing works. */
import { type Notice, plainLine } from '../client/index.ts'
import type { Display } from './display.ts'
import { serverWords } from './serverWords.ts'

const LAST_LINES = 20
const HELD_OPEN = 'note: A server of the older era holds its call open while it asks, so this one cannot be suspended.'

export function noticesOf(display: Display, verbose: boolean) {
  const lines: string[] = []
  return {
    hear(notice: Notice): void {
      if (notice.kind === 'error' && notice.error.name === 'Suspend') display.note(HELD_OPEN)
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
