/** What the program says while it works: results on stdout, everything else on stderr, never both at once. */
import type { LoggingMessageNotificationParams, Progress } from '@modelcontextprotocol/client'
import { plainLine, type Task, taskOf } from '../../client/index.ts'
import { hasEnded } from '../../protocol/index.ts'
import { jsonText } from './json.ts'
import { progressBar } from './progressBar.ts'
import { serverWords } from './layout.ts'
import { statusText } from './tasks.ts'

export interface Display {
  /** A result. */
  print(text: string): void
  /** A line for people, beside the result. */
  note(text: string): void
  log(message: LoggingMessageNotificationParams): void
  progress(progress: Progress): void
  /** How a task is: on a terminal one line that changes, elsewhere a line for each change. */
  status(task: Task): void
  /** A question is on the screen: other lines wait until the function it gives is called. */
  hold(): () => void
  /** Nothing moves any more. */
  end(): void
}

export function createDisplay(): Display {
  const bar = progressBar(process.stderr)
  let waiting: string[] | undefined
  const note = (text: string): void => {
    bar.clear()
    if (waiting === undefined) process.stderr.write(`${text}\n`)
    else waiting.push(text)
  }
  return {
    note,
    print(text) {
      bar.clear()
      process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
    },
    log: (message) => note(logLine(message)),
    progress: (progress) => {
      // The status of a task comes by this way, too.
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
  const text = serverWords(typeof data === 'string' ? data : jsonText(data))
  return `[${level}]${from} ${text}`
}
