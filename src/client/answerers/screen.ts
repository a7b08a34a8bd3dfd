/**
 * The screen of the terminal answerer: text, a line of input, a choice. It draws on the given stream, and makes every text plain.
 */
import type { Key } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { CANCEL_SYMBOL } from '@clack/prompts'
import { plainLine, plainLines } from '../../questions/index.ts'

/** The person left the form, by Escape or by Ctrl-C. */
export class FormLeft extends Error {
  override readonly name = 'FormLeft'
  readonly isInterrupt: boolean

  constructor(isInterrupt: boolean) {
    super('The form was left without an answer.')
    this.isInterrupt = isInterrupt
  }
}

export interface Option<Value> {
  readonly value: Value
  readonly label: string
  readonly hint?: string
}

export interface LineQuestion {
  readonly message: string
  readonly initial: string
  readonly placeholder: string | undefined
  /** The problem of a line; undefined if it is valid. */
  readonly problem: (line: string) => string | undefined
}

export interface Screen {
  /** How many columns a text may have. */
  readonly width: number
  begin(title: string): void
  say(lines: readonly string[]): void
  warn(lines: readonly string[]): void
  end(line: string): void
  line(question: LineQuestion): Promise<string>
  choose<Value>(message: string, options: readonly Option<Value>[], initial?: Value): Promise<Value>
  chooseMany<Value>(message: string, options: readonly Option<Value>[], initial: readonly Value[]): Promise<Value[]>
}

export interface ScreenOptions {
  readonly input: Readable
  readonly output: Writable & { columns?: number; rows?: number }
  readonly signal: AbortSignal
}

/** The size that is assumed where a terminal does not tell its own. */
const DEFAULT_SIZE = { columns: 80, rows: 24 }
const GUIDE_COLUMNS = 4
const MAX_COLUMNS = 100
// Callers cut texts to a useful length. These are the limits for all texts.
const MAX_LINES = 200
const MAX_CHARACTERS = 300

export async function createScreen({ input, output, signal }: ScreenOptions): Promise<Screen> {
  const { intro, isCancel, log, multiselect, outro, select, text, settings } = await import('@clack/prompts')
  const prompt = async <Value>(
    show: (streams: PromptStreams) => Promise<Value | typeof CANCEL_SYMBOL>,
  ): Promise<Value> => {
    const keys = watchKeys(input)
    try {
      const either = AbortSignal.any([signal, keys.ended])
      const answer = await untilAborted(either, (own) => show({ input, output, signal: own }))
      signal.throwIfAborted()
      if (isCancel(answer)) throw new FormLeft(keys.isInterrupt)
      return answer
    } finally {
      keys.stop()
    }
  }
  // The prompts read the size from the stream.
  output.columns ||= DEFAULT_SIZE.columns
  output.rows ||= DEFAULT_SIZE.rows
  const width = Math.max(20, Math.min(output.columns, MAX_COLUMNS) - GUIDE_COLUMNS)
  const wrapped = (lines: readonly string[]): string[] =>
    lines.flatMap((line) => plainLines(line, { width, maxLines: MAX_LINES }))
  return {
    width,
    begin: (title) => intro(title, { output }),
    say: (lines) => log.message(wrapped(lines), { output }),
    warn: (lines) => log.warn(wrapped(lines).join('\n'), { output }),
    end: (line) => outro(line, { output }),
    line: ({ message, initial, placeholder, problem }) =>
      prompt((streams) =>
        text({
          ...streams,
          message: plainLine(message, MAX_CHARACTERS),
          initialValue: initial,
          ...(placeholder !== undefined && { placeholder }),
          validate: (line) => problem(line ?? ''),
        }),
      ).then((line) => line ?? ''),
    choose: async (message, options, initial) => {
      const initialValue = Math.max(
        0,
        options.findIndex(({ value }) => value === initial),
      )
      const shown = numbered(options)
      const labels = shown.map(({ label }) => label)
      const stop = followTyping(input, labels, initialValue, settings.aliases)
      try {
        const chosen = await prompt((streams) =>
          select({ ...streams, message: plainLine(message, MAX_CHARACTERS), options: shown, initialValue }),
        )
        return valueAt(options, chosen)
      } finally {
        stop()
      }
    },
    chooseMany: async (message, options, initial) => {
      const chosenBefore = new Set(initial)
      const initialValues = [...options.keys()].filter((index) => chosenBefore.has(valueAt(options, index)))
      const chosen = await prompt((streams) =>
        multiselect({
          ...streams,
          message: plainLine(message, MAX_CHARACTERS),
          options: numbered(options),
          initialValues,
          required: false,
        }),
      )
      return chosen.map((index) => valueAt(options, index))
    },
  }
}

interface PromptStreams {
  input: Readable
  output: Writable
  signal: AbortSignal
}

/** Watches the keys that end a prompt: Ctrl-C and Escape, which prompts do not distinguish, and Ctrl-D. */
function watchKeys(input: Readable) {
  let last: Key | undefined
  const end = new AbortController()
  const onKey = (_: unknown, key: Key | undefined): void => {
    last = key
    // Ctrl-D ends the input, so the prompt would wait for ever.
    if (key?.ctrl && key.name === 'd') end.abort()
  }
  input.prependListener('keypress', onKey)
  return {
    ended: end.signal,
    /** Whether the last key was Ctrl-C. */
    get isInterrupt() {
      return last?.ctrl === true && last.name === 'c'
    },
    stop: () => void input.removeListener('keypress', onKey),
  }
}

// A prompt does not stop listening to its signal when it is done, and an abort would then close the next prompt. So each
// prompt gets a signal of its own.
async function untilAborted<Value>(signal: AbortSignal, show: (own: AbortSignal) => Promise<Value>): Promise<Value> {
  signal.throwIfAborted()
  const own = new AbortController()
  const abort = (): void => own.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await show(own.signal)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

// Prompts compare values, and two options may have equal values. So each option has a number.
function numbered(options: readonly Option<unknown>[]): { value: number; label: string; hint?: string }[] {
  return options.map(({ label, hint }, value) => ({
    value,
    label: plainLine(label, MAX_CHARACTERS),
    ...(hint !== undefined && { hint: plainLine(hint, MAX_CHARACTERS) }),
  }))
}

function valueAt<Value>(options: readonly Option<Value>[], index: number): Value {
  return (options[index] as Option<Value>).value
}

/**
 * Typing in a choice: letters lead to the option that begins with them, and Enter takes it, as with the arrow keys. The
 * prompts do not support letters, so a letter is replaced by the arrow keys that lead to its choice. Letters alone
 * answer nothing. Once a word has begun, the letters that prompts move by (h, j, k and l) belong to the word. The
 * prompt begins at the option `initial`. Gives the function that ends it.
 */
function followTyping(input: Readable, labels: readonly string[], initial: number, aliases: Aliases): () => void {
  const options = labels.map((label) => label.toLowerCase())
  let at = initial
  let typed = ''
  let isOurs = false
  const onKey = (text: string | undefined, key: Key | undefined): void => {
    if (isOurs) return
    const step = stepOf(key, aliases)
    const next = wordAfter(typed, letterOf(text, key), options)
    const target = next === '' ? at + step : (indexOf(next, options) ?? at)
    // The prompt takes the last step by itself.
    const steps = wrapped(target - step - at, options.length)
    isOurs = true
    for (let moved = 0; moved < steps; moved++) input.emit('keypress', undefined, DOWN)
    isOurs = false
    typed = next
    at = wrapped(target, options.length)
  }
  input.prependListener('keypress', onKey)
  return () => void input.removeListener('keypress', onKey)
}

/** The keys that prompts take for others. */
type Aliases = ReadonlyMap<string, string>

const DOWN: Key = { name: 'down', sequence: '\u001b[B' }

/** The word that is being typed. If a letter does not continue the word, it starts a new one: y and then n means no. */
function wordAfter(typed: string, letter: string | undefined, options: readonly string[]): string {
  if (letter === undefined) return ''
  const fits = (word: string): boolean => indexOf(word, options) !== undefined
  if (fits(letter) && !fits(`${typed}${letter}`)) return letter
  return typed === '' && !fits(letter) ? '' : `${typed}${letter}`
}

function indexOf(word: string, options: readonly string[]): number | undefined {
  const index = options.findIndex((option) => option.startsWith(word))
  return index < 0 ? undefined : index
}

function letterOf(text: string | undefined, key: Key | undefined): string | undefined {
  if (text === undefined || key?.ctrl === true || key?.meta === true) return undefined
  return /^[\p{L}\p{N}]$/u.test(text) ? text.toLowerCase() : undefined
}

/** The direction in which this key moves the selection: an arrow key, or a letter with the same meaning. */
function stepOf(key: Key | undefined, aliases: Aliases): number {
  const name = key?.name ?? ''
  switch (aliases.get(name) ?? name) {
    case 'up':
    case 'left':
      return -1
    case 'down':
    case 'right':
      return 1
    default:
      return 0
  }
}

function wrapped(index: number, count: number): number {
  return ((index % count) + count) % count
}
