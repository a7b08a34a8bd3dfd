/**
 * Asks the person at the terminal. Invariants:
 * - draws on stderr, so that stdout stays for results;
 * - one question at a time, from whichever connection it comes;
 * - a server's text reaches the terminal as plain text only;
 * - nothing is sent and nothing is opened before the person has seen it and said yes.
 */
import type { ReadStream, WriteStream } from 'node:tty'
import { assertOptionNames, host, type Json, type OptionNames, unlessAborted } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import type { Answerer, Asked } from '../questions/answerer.ts'
import { wrongKind } from '../questions/kinds.ts'
import { showForm } from './form.ts'
import { createScreen, FormLeft, type Screen } from './screen.ts'
import { openPage, type OpenPage, showVisit } from './visit.ts'

export interface TerminalOptions {
  /** Where the person types. @default process.stdin */
  input?: ReadStream
  /** Where questions are drawn. @default process.stderr */
  output?: WriteStream
  /** Opens the address of a page after a yes. @default the system's browser */
  open?: OpenPage
  /**
   * Called before a question is drawn, so that the host holds back its own output. The returned function is called
   * afterwards.
   */
  hold?: () => () => void
  /**
   * Called at Ctrl-C in a form, so that the host ends the call; the question then gets no answer. @default Ctrl-C cancels
   * the question as Escape does, and the call continues
   */
  onInterrupt?: () => void
}

const TERMINAL_OPTIONS: OptionNames<TerminalOptions> = {
  input: true,
  output: true,
  open: true,
  hold: true,
  onInterrupt: true,
}

/** Asks the person at the terminal to fill in a form or to visit a page. For both: `{ form: ask, url: ask }`. */
export function terminal(options: TerminalOptions = {}): Answerer {
  assertOptionNames(options, TERMINAL_OPTIONS, 'terminal()')
  const { input = host?.stdin, output = host?.stderr, open = openPage, hold, onInterrupt } = options
  return async (asked) => {
    if (asked.request.method !== 'elicitation/create') throw wrongKind(asked.key, 'terminal()', asked.request)
    if (!input?.isTTY || !output?.isTTY) throw noTerminal()
    return oneAtATime(output, asked.signal, async () => {
      const release = hold?.()
      try {
        return await ask(await createScreen({ input, output, signal: asked.signal }), asked, { open, onInterrupt })
      } finally {
        release?.()
      }
    })
  }
}

interface TerminalHost {
  readonly open: OpenPage
  readonly onInterrupt: TerminalOptions['onInterrupt']
}

async function ask(screen: Screen, asked: Asked, { open, onInterrupt }: TerminalHost): Promise<Json> {
  try {
    const response = await show(screen, asked, open)
    screen.end(ENDS[response['action'] as keyof typeof ENDS])
    return response
  } catch (error) {
    if (!(error instanceof FormLeft)) {
      if (asked.signal.aborted) screen.end('The call was cancelled; no answer is needed any more.')
      throw error
    }
    screen.end(ENDS.cancel)
    if (!error.isInterrupt || onInterrupt === undefined) return { action: 'cancel' }
    onInterrupt()
    throw error
  }
}

function show(screen: Screen, asked: Asked, open: OpenPage): Promise<Json> {
  const { params } = asked.request as { params: Parameters<typeof showForm>[2] | Parameters<typeof showVisit>[2] }
  return params.mode === 'url' ? showVisit(screen, asked, params, open) : showForm(screen, asked, params)
}

const ENDS = { accept: 'Sent.', decline: 'Declined.', cancel: 'Cancelled.' } as const

function noTerminal(): ClientError {
  return new ClientError(
    'TERMINAL_MISSING',
    'The server asks something, and there is no terminal to ask on. Run this in a terminal, or choose another answerer.',
  )
}

/** The end of the queue for each resource. Two answerers of one terminal share its queue. */
const tails = new WeakMap<object, Promise<unknown>>()

/** A FIFO lock: runs `task` when all earlier tasks for `resource` are over. Rejects at once when the signal aborts. */
export async function oneAtATime<Result>(
  resource: object,
  signal: AbortSignal,
  task: () => Promise<Result>,
): Promise<Result> {
  const before = tails.get(resource) ?? Promise.resolve()
  const mine = before.then(() => {
    signal.throwIfAborted()
    return task()
  })
  tails.set(
    resource,
    mine.catch(() => undefined),
  )
  await unlessAborted(signal, before)
  return mine
}
