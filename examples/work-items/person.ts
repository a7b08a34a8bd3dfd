/** Who answers the forms: a person at the terminal, or fixed answers. */
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Field, FormRequest } from './wire.ts'

export type Response =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> }
  | { readonly action: 'decline' | 'cancel' }

export interface Person {
  answer(key: string, form: FormRequest): Promise<Response>
  close(): void
}

/** The answers of SEP-2322. */
export const fixedAnswers: Person = {
  async answer(key) {
    const content = key === 'resolution' ? { resolution: 'Duplicate' } : { duplicateOfId: 4301 }
    return { action: 'accept', content }
  },
  close() {},
}

export interface Terminal {
  readonly input: Readable
  readonly output: Writable
  /** Called on Ctrl-C, which is not a signal while a terminal is read for answers. */
  readonly onInterrupt: () => void
}

const DECLINE = 'decline'

/** A person at a terminal. The end of the input (Ctrl-D) cancels. */
export function terminalPerson({ input, output, onInterrupt }: Terminal): Person {
  const reader = createInterface({ input, output })
  const lines = reader[Symbol.asyncIterator]()
  reader.on('SIGINT', onInterrupt)

  async function fill(name: string, field: Field): Promise<unknown> {
    output.write(`    ${field.description ?? name}\n`)
    field.enum?.forEach((choice, index) => output.write(`      ${index + 1}  ${choice}\n`))
    for (;;) {
      reader.setPrompt(`    ${hint(field)}, or ${DECLINE}: `)
      reader.prompt()
      const { value: line, done } = await lines.next()
      if (done === true) throw new Refusal('cancel')
      const typed = line.trim()
      if (typed.toLowerCase() === DECLINE) throw new Refusal('decline')
      const value = readField(field, typed)
      if (value !== undefined) return value
      output.write(`    ${typed === '' ? 'That was empty' : `"${typed}" does not fit`}. Please try again.\n`)
    }
  }

  return {
    async answer(_, { params: { message, requestedSchema } }) {
      output.write(`\n  ${message}\n`)
      const content: Record<string, unknown> = {}
      try {
        for (const [name, field] of Object.entries(requestedSchema.properties)) content[name] = await fill(name, field)
      } catch (error) {
        if (error instanceof Refusal) return { action: error.action }
        throw error
      }
      return { action: 'accept', content }
    },
    close: () => reader.close(),
  }
}

class Refusal extends Error {
  readonly action: 'decline' | 'cancel'

  constructor(action: 'decline' | 'cancel') {
    super(action)
    this.action = action
  }
}

function hint(field: Field): string {
  if (field.enum !== undefined) return `Type a number from 1 to ${field.enum.length} or a name`
  return field.type === 'number' ? 'Type a number' : 'Type your answer'
}

/** The typed text as a value of the field, or undefined where it does not fit. */
function readField(field: Field, typed: string): unknown {
  if (typed === '') return undefined
  if (field.enum !== undefined) {
    const named = field.enum.find((choice) => choice.toLowerCase() === typed.toLowerCase())
    return named ?? (/^\d+$/.test(typed) ? field.enum[Number(typed) - 1] : undefined)
  }
  if (field.type !== 'number') return typed
  return Number.isFinite(Number(typed)) ? Number(typed) : undefined
}
