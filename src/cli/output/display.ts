/** The output of a command: results on stdout, everything else on stderr. */
import type { LoggingMessageNotificationParams, Progress } from '@modelcontextprotocol/client'
import { plainLine, type Task, taskOf } from '../../client/index.ts'
import { hasEnded } from '../../protocol/index.ts'
import { printableJson } from './json.ts'
import { writeNote, writeResult } from './screen.ts'
import { serverText, screenWidth } from './layout.ts'
import { statusText } from './tasks.ts'

export interface Display {
  /** Writes a result to stdout. */
  print(text: string): void
  /** Writes a line for people to stderr. */
  note(text: string): void
  log(message: LoggingMessageNotificationParams): void
  progress(progress: Progress): void
  /** Shows the status of a task: on a terminal one line that changes, elsewhere a line for each change. */
  status(task: Task): void
  /** Holds all lines back while a question is on the screen, until the function that it returns is called. */
  hold(): () => void
  /** Removes the progress bar. */
  end(): void
}

export function createDisplay(): Display {
  const bar = progressBar(process.stderr)
  let waiting: string[] | undefined
  const note = (text: string): void => {
    bar.clear()
    if (waiting === undefined) writeNote(text)
    else waiting.push(text)
  }
  return {
    note,
    print(text) {
      bar.clear()
      writeResult(text)
    },
    log: (message) => note(logLine(message)),
    progress: (progress) => {
      // The status of a task arrives as progress as well, and is shown by `status`.
      if (taskOf(progress) === undefined) bar.update(progress)
    },
    status(task) {
      if (hasEnded(task.status)) bar.clear()
      else if (process.stderr.isTTY) bar.show(statusText(task))
      else note(statusText(task))
    },
    hold() {
      bar.hold(true)
      waiting ??= []
      return () => {
        bar.hold(false)
        const lines = waiting ?? []
        waiting = undefined
        for (const line of lines) note(line)
      }
    },
    end: () => bar.clear(),
  }
}

function logLine({ level, logger, data }: LoggingMessageNotificationParams): string {
  const from = logger === undefined ? '' : ` ${plainLine(logger)}:`
  const text = serverText(typeof data === 'string' ? data : printableJson(data))
  return `[${level}]${from} ${text}`
}

interface ProgressBar {
  update(progress: Progress): void
  /** Draws any other line in place of the bar. */
  show(line: string): void
  /** Removes the bar; the next update draws it again, unless it is held. */
  clear(): void
  /** Draws nothing until called with false. */
  hold(held: boolean): void
}

/** The part of a stream that a bar needs. */
interface TerminalStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const CLEAR_LINE = '\r\u001b[K'
const BAR_COLUMNS = 24

/** A progress bar on one line, drawn only on a terminal. It is removed before anything else is written. */
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
