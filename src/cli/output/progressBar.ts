/** A progress bar on one line, drawn only on a terminal. It is removed before anything else is written. */
import type { Progress } from '@modelcontextprotocol/client'
import { plainLine } from '../../client/index.ts'
import { screenWidth } from './layout.ts'

export interface ProgressBar {
  update(progress: Progress): void
  /** Draws any other line in place of the bar. */
  show(line: string): void
  /** Removes the bar; the next update draws it again, unless it is held. */
  clear(): void
  /** Draws nothing until called with false. */
  hold(held: boolean): void
}

/** The part of a stream that a bar needs. */
export interface TerminalStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const CLEAR_LINE = '\r\u001b[K'
const BAR_COLUMNS = 24

export function progressBar(screen: TerminalStream): ProgressBar {
  let drawn = false
  let held = false
  const clear = (): void => {
    if (drawn) screen.write(CLEAR_LINE)
    drawn = false
  }
  // One column stays free: a full line would wrap, and could not be cleared.
  const draw = (line: (columns: number) => string): void => {
    if (!screen.isTTY || held) return
    screen.write(CLEAR_LINE + line(screenWidth(screen) - 1))
    drawn = true
  }
  return {
    clear,
    hold(now) {
      clear()
      held = now
    },
    update: (progress) => draw((columns) => progressLine(progress, columns)),
    show: (line) => draw((columns) => plainLine(line, columns)),
  }
}

/** The line for one report. Without a total it only counts. */
export function progressLine({ progress, total, message }: Progress, columns: number): string {
  const text = message === undefined ? '' : ` ${message}`
  if (total === undefined || !(total > 0)) return plainLine(`${progress}${text}`, columns)
  const part = Math.min(1, Math.max(0, progress / total))
  const full = Math.round(part * BAR_COLUMNS)
  const bar = '#'.repeat(full) + '-'.repeat(BAR_COLUMNS - full)
  const percent = `${Math.floor(part * 100)}%`.padStart(4)
  return plainLine(`[${bar}] ${percent}${text}`, columns)
}
