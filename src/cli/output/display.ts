/** The output of a command: results on stdout, everything else on stderr. */
import type { LoggingMessageNotificationParams, Progress } from '@modelcontextprotocol/client'
import { plainLine, type Task, taskOf } from '../../client/index.ts'
import { hasEnded } from '../../protocol/index.ts'
import { printableJson } from './json.ts'
import { progressBar } from './progressBar.ts'
import { writeNote, writeResult } from './screen.ts'
import { serverText } from './layout.ts'
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
