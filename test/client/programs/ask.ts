/**
 * Asks the questions in the file that its argument names, all at once, on the terminal it was started on. Prints the answers on stdout as JSON.
 * OPENED names a file that takes the addresses that were opened; without it the system's opener is used.
 * The signal SIGUSR2 cancels the first question.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import type { Asked } from '../../../src/client/questions/answerer.ts'
import { terminal } from '../../../src/client/answerers/terminal.ts'

const { OPENED } = process.env
const open = (href: string): void => appendFileSync(OPENED ?? '', `${href}\n`)
const held: string[] = []
const hold = (): (() => void) => (held.push('held'), () => void held.push('released'))
const ask = terminal({ hold, ...(OPENED !== undefined && { open }) })

const cancelled = new AbortController()
process.once('SIGUSR2', () => cancelled.abort(new Error('The call was cancelled.')))

const questions = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Pick<
  Asked,
  'request' | 'server' | 'call'
>[]
const answers = await Promise.allSettled(
  questions.map(async (question, index) => {
    const { signal } = index === 0 ? cancelled : new AbortController()
    return ask({ key: `q${index}`, ...question, signal })
  }),
)
const said = answers.map((answer) =>
  answer.status === 'fulfilled'
    ? answer.value
    : { error: String(answer.reason), code: (answer.reason as { code?: unknown }).code },
)
console.log(JSON.stringify({ said, held }))
