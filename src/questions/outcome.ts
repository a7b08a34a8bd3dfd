/** The outcome of a question, in a sentence. */
import { plainLine } from './safeText.ts'

interface ToldOutcome {
  readonly state: 'open' | 'answered' | 'declined' | 'cancelled' | 'expired' | 'withdrawn'
  /** Milliseconds since 1970. */
  readonly at?: number | undefined
  readonly by?: { readonly subject: string } | undefined
  readonly way?: keyof typeof WAYS | undefined
}

const WAYS = {
  client: 'in a client',
  page: 'on its page',
  console: 'in the console',
  program: 'by a program',
  model: 'by the model',
} as const

export function outcomeSentence({ state, at, by, way }: ToldOutcome): string {
  const time = at === undefined ? '' : ` on ${timeText(at)}`
  switch (state) {
    case 'open':
      return 'It is open.'
    case 'answered':
    case 'declined':
    case 'cancelled': {
      const who = by === undefined ? '' : ` by ${plainLine(by.subject)}`
      return `It was ${state}${who}${time}${way === undefined ? '' : `, ${WAYS[way]}`}.`
    }
    case 'expired':
      return `There was no answer in time: it could be answered until${time.replace(' on', '')}.`
    case 'withdrawn':
      return `It was withdrawn${time}, because its call was cancelled, has failed, or asks again.`
    default:
      return state satisfies never
  }
}

/** A time for people, to the minute. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
