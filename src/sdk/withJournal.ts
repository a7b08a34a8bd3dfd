/**
 * `ask`, `step` and `once` for tools of an official SDK server.
 *
 * - Toward 2026-07-28 an unanswered ask ends the round: its journal goes out sealed in an `input_required` result. Toward
 *   the session era the question is pushed and the handler goes on in place.
 * - The SDK makes a tool result with `isError` of whatever a tool throws, Declined included, answers -32021 when a client
 *   did not declare what it is asked, and -32602 when the `verify` hook of the codec refuses a state.
 * - The hook sees no arguments. A state that comes back with other arguments, or by another tool where no header names
 *   it, is refused by the wrapper, and therefore as a result with `isError`.
 */
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { Asking, type Logger } from '../server/index.ts'
import { type Ledger, memoryLedger } from '../state/stores/index.ts'
import { type RequestStateCodec, sealOf } from './requestStateCodec.ts'
import { runToolRound, type ToolRoundOptions } from './toolRound.ts'

/** The SDK's context, and what asks and remembers. */
export type JournalContext = ServerContext & Asking

export interface WithJournalOptions {
  /** Seals what a call remembers. Give its `verify` to the server too, so that a bad state is -32602. */
  state: RequestStateCodec
  /** Where `once` claims its single use. @default the memory of this process */
  ledger?: Ledger
  /** How often one question is asked before the call gives up. @default 5 */
  maxAsks?: number
  /** How long a session-era client may take to answer, in milliseconds. @default 600000 */
  answerTimeoutMs?: number
  /** Whether `checkpoint()` should hand calls to another instance. @default never */
  draining?: () => boolean
  /** How long a handler may unwind after its round has ended, in milliseconds. @default 5000 */
  unwindMs?: number
  /**
   * What of the checked arguments a state belongs to. Needed only where checking them gives something else each time,
   * such as a default that is a new id. @default all of them
   */
  boundArguments?: (args: unknown) => unknown
  /** Where it is said why a state was refused. @default nowhere */
  logger?: Logger
}

/** A string is a text result. */
type JournalReturn = CallToolResult | string | Promise<CallToolResult | string>

/**
 * Makes the callback of `registerTool`. It repeats the tool's name, because the SDK tells a callback none. The handler
 * is always given arguments and context; the arguments are undefined where the tool has no input schema.
 */
export type Journaled = <A>(
  name: string,
  handler: (args: A, ctx: JournalContext) => JournalReturn,
) => (args: A, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>

export function withJournal(options: WithJournalOptions): Journaled {
  const filled = withDefaults(options)
  return <A>(tool: string, handler: (args: A, ctx: JournalContext) => JournalReturn) =>
    (first: A, second: ServerContext) => {
      // The SDK gives a tool without an input schema its context alone.
      const [args, ctx] = second === undefined ? [undefined as A, first as ServerContext] : [first, second]
      return runToolRound({ tool, args, ctx }, filled, (run) => handler(args, Object.assign(new Asking(run), ctx)))
    }
}

function withDefaults(options: WithJournalOptions): ToolRoundOptions {
  const { ledger = ledgerOfProcess(), maxAsks = 5, answerTimeoutMs = 600_000, unwindMs = 5000, logger } = options
  const { draining = () => false, boundArguments = (args: unknown) => args } = options
  const seal = sealOf(options.state)
  return { seal, ledger, maxAsks, answerTimeoutMs, unwindMs, draining, boundArguments, logger }
}

let shared: Ledger | undefined

/** One for the process: the SDK makes a server for each request, and a ledger made with it would forget at once. */
function ledgerOfProcess(): Ledger {
  shared ??= memoryLedger()
  return shared
}
