/**
 * `ask`, `step` and `once` for tools of an official SDK server.
 *
 * - With a client of 2026-07-28, an unanswered ask ends the round, and the sealed journal is the state of the
 *   `input_required` result. With a session-era client, the question is pushed while the handler waits.
 * - The SDK turns everything that a tool throws, also Declined, into a result with `isError`. It answers -32021 if the
 *   client did not declare a needed capability, and -32602 if the `verify` hook of the codec refuses a state.
 * - The hook gets no arguments. So a state with other arguments, or for another tool where no header names the tool, is
 *   refused by the wrapper, with a result with `isError`.
 */
import { MAX_ASKS, UNWIND_MS } from '../journal/index.ts'
import { assertOptionNames, type OptionNames } from '../protocol/index.ts'
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { Asking, type Logger } from '../server/index.ts'
import { CallLifetime, MAX_ROUNDS } from '../server/internal.ts'
import { type Ledger, memoryLedger } from '../state/stores/index.ts'
import { type RequestStateCodec, sealOf } from './requestStateCodec.ts'
import { ANSWER_TIMEOUT_MS, runToolRound, type ToolRoundOptions } from './toolRound.ts'

/** The SDK's context, with `ask`, `step`, `once` and the other methods of `Asking`. */
export type JournalContext = ServerContext & Asking

export interface WithJournalOptions {
  /** Seals the journal. Give its `verify` to the server as well, so that a bad state is answered with -32602. */
  state: RequestStateCodec
  /** The ledger in which `once` claims. @default one in the memory of this process */
  ledger?: Ledger
  /** How often one question is asked before the call fails. @default 5 */
  maxAsks?: number
  /** How many rounds one call may take before it fails. @default 256 */
  maxRounds?: number
  /**
   * How long one call may live over all its rounds, in seconds. The ledger keeps claims twice as long. @default 86400, or
   * four times `ttlSeconds` of the codec if that is more
   */
  maxCallSeconds?: number
  /** How long a session-era client may take to answer, in milliseconds. @default 600000 */
  answerTimeoutMs?: number
  /** Whether `checkpoint()` should hand calls to another instance. @default never */
  draining?: () => boolean
  /** How long a handler may unwind after its round has ended, in milliseconds. @default 5000 */
  unwindMs?: number
  /**
   * The part of the validated arguments that a state is bound to. Needed only if validation gives other arguments each
   * time, such as a default that is a new id. @default all arguments
   */
  boundArguments?: (args: unknown) => unknown
  /** Gets a warning with the code when a state is refused. @default no logger */
  logger?: Logger
}

const JOURNAL_OPTIONS: OptionNames<WithJournalOptions> = {
  state: true,
  ledger: true,
  maxAsks: true,
  maxRounds: true,
  maxCallSeconds: true,
  answerTimeoutMs: true,
  draining: true,
  unwindMs: true,
  boundArguments: true,
  logger: true,
}

/** A string is a text result. */
type JournalReturn = CallToolResult | string | Promise<CallToolResult | string>

/**
 * Makes the callback of `registerTool`. It needs the tool's name, because the SDK does not pass it to the callback. The
 * handler always gets arguments and context; the arguments are undefined if the tool has no input schema.
 */
export type Journaled = <A>(
  name: string,
  handler: (args: A, ctx: JournalContext) => JournalReturn,
) => (args: A, ctx: ServerContext) => Promise<CallToolResult | InputRequiredResult>

/** Gives tools of an official SDK server `ask`, `step` and `once`. */
export function withJournal(options: WithJournalOptions): Journaled {
  const filled = withDefaults(options)
  return <A>(tool: string, handler: (args: A, ctx: JournalContext) => JournalReturn) =>
    (first: A, second: ServerContext) => {
      // The SDK calls a tool without an input schema with the context only.
      const [args, ctx] = second === undefined ? [undefined as A, first as ServerContext] : [first, second]
      return runToolRound({ tool, args, ctx }, filled, (run) => handler(args, Object.assign(new Asking(run), ctx)))
    }
}

function withDefaults(options: WithJournalOptions): ToolRoundOptions {
  assertOptionNames(options, JOURNAL_OPTIONS, 'withJournal')
  const {
    ledger = ledgerOfProcess(),
    maxAsks = MAX_ASKS,
    answerTimeoutMs = ANSWER_TIMEOUT_MS,
    unwindMs = UNWIND_MS,
    logger,
  } = options
  const {
    maxRounds = MAX_ROUNDS,
    maxCallSeconds,
    draining = () => false,
    boundArguments = (args: unknown) => args,
  } = options
  const seal = sealOf(options.state)
  const lifetime = new CallLifetime({ ...seal.lifetime, maxCallSeconds })
  return { seal, ledger, lifetime, maxAsks, maxRounds, answerTimeoutMs, unwindMs, draining, boundArguments, logger }
}

let shared: Ledger | undefined

/**
 * One ledger for the process. The SDK makes a server for each request, and a ledger per server would lose its claims.
 */
function ledgerOfProcess(): Ledger {
  shared ??= memoryLedger()
  return shared
}
