/**
 * One run of a handler over its journal: open the journal, run the handler, settle how that ended. Rounds of calls,
 * runs of tasks and rounds of SDK tools are runs; HandlerRun has their differences.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  answererOf,
  isBlank,
  type Journal,
  JournalError,
  type Outcome,
  Run,
  type RunOptions,
  type SharedClaims,
} from '../../journal/index.ts'
import { isObject, type Json, ProtocolError, runLater } from '../../protocol/index.ts'
import { errorDetails, type Logger } from '../logger.ts'
import type { Ledger } from '../../state/stores/index.ts'
import type { Approval } from '../auth/approval.ts'
import type { Call, CallObserver } from '../call.ts'
import { knownCaller } from '../limits/quotaCaller.ts'

/** `T` is the handler's result, `R` the run's result. */
export interface HandlerRun<T, R> {
  /** Absent when no telemetry is registered. */
  readonly observer?: CallObserver | undefined
  /** The journal that the request or the task brings, or a new one. */
  open(): Journal | Promise<Journal>
  setup(journal: Journal): RunSetup
  invoke(run: Run, journal: Journal): T | Promise<T>
  /** The handler returned. */
  complete(value: T, journal: Journal): R | Promise<R>
  /** The handler threw. */
  failed(error: unknown): R | Promise<R>
  /** The round ended with these questions; without questions, another instance should continue. */
  asked(requests: ReadonlyMap<string, InputRequest>, journal: Journal): R | Promise<R>
  /** The handler wants to continue as a task. */
  detached(journal: Journal): R | Promise<R>
}

/** Written to the log here. */
type Reports = 'onChanging' | 'onLate' | 'onLost' | 'onRefused' | 'onStuck'

export interface RunSetup extends Omit<RunOptions, 'journal' | Reports> {
  /** A client's answer did not fit. */
  readonly onRefused?: () => void
  /** Names the handler in the log. */
  readonly about: object
  readonly logger: () => Logger | undefined
}

/** `around` goes around the run, once its journal is open. Gives no promise where nothing waits. */
export function runHandler<T, R>(
  handlerRun: HandlerRun<T, R>,
  around?: (journal: Journal, run: () => Promise<R>) => Promise<R>,
): R | Promise<R> {
  const run =
    around === undefined && handlerRun.observer === undefined
      ? (journal: Journal) => runOver(handlerRun, journal)
      : (journal: Journal) => surrounded(handlerRun, journal, around)
  const opened = handlerRun.open()
  return opened instanceof Promise ? opened.then(run) : run(opened)
}

function runOver<T, R>(handlerRun: HandlerRun<T, R>, journal: Journal): R | Promise<R> {
  const run = new Run(() => runOptions(journal, handlerRun.setup(journal)), runLater)
  const ended = run.execute(() => handlerRun.invoke(run, journal))
  return ended instanceof Promise
    ? ended.then((outcome) => settle(handlerRun, journal, outcome))
    : settle(handlerRun, journal, ended)
}

function settle<T, R>(handlerRun: HandlerRun<T, R>, journal: Journal, outcome: Outcome<T>): R | Promise<R> {
  switch (outcome.kind) {
    case 'complete':
      return handlerRun.complete(outcome.value, journal)
    case 'failed':
      return handlerRun.failed(outcome.error)
    case 'asked':
      return handlerRun.asked(outcome.requests, journal)
    case 'detached':
      return handlerRun.detached(journal)
    default:
      return outcome satisfies never
  }
}

/** Runs the handler inside its span and inside `around`. */
function surrounded<T, R>(
  handlerRun: HandlerRun<T, R>,
  journal: Journal,
  around: ((journal: Journal, run: () => Promise<R>) => Promise<R>) | undefined,
): Promise<R> {
  const run = async (): Promise<R> => runOver(handlerRun, journal)
  const outer = around === undefined ? run : () => around(journal, run)
  const { observer } = handlerRun
  return observer === undefined ? outer() : observer.opened(journal, outer)
}

function runOptions(journal: Journal, setup: RunSetup): RunOptions {
  const { about, logger } = setup
  return {
    ...setup,
    journal,
    onRefused: (key) => {
      // Without the schema's messages, which may quote the answer.
      logger()?.info({ ...about, key }, 'An answer did not fit its question, which is asked again.')
      setup.onRefused?.()
      setup.watch?.refused?.(key)
    },
    onChanging: (key) =>
      logger()?.warn(
        { ...about, key },
        'A question has another text or key in each round, so that no answer fits it. Take what varies from ctx.step.',
      ),
    onLate: (what) =>
      logger()?.warn(about, `A handler used its context after its call had ended; ${what} had no effect.`),
    onLost: (what, error) =>
      logger()?.error({ ...about, err: errorDetails(error) }, `A handler did not wait for ${what}, which failed.`),
    onStuck: () => logger()?.warn(about, 'A handler did not return after its round had ended; let RoundEnded pass.'),
  }
}

/**
 * Whether the client must return a state with its answers. A first round often has an empty journal and needs no state.
 */
export function needsState(requests: ReadonlyMap<string, InputRequest>, journal: Journal): boolean {
  return requests.size === 0 || !isBlank(journal)
}

/** Throws when the round that asks was the last one. */
export function assertRoundLeft({ round }: Journal, maxRounds: number): void {
  if (round + 1 < maxRounds) return
  throw new JournalError(
    'ROUNDS_EXHAUSTED',
    `The call still asked for input after ${maxRounds} rounds. If a question has another text or key each time, take what varies from ctx.step.`,
  )
}

export interface SharedClaimsOptions {
  readonly ledger: Ledger
  /** The audience of the server's seals: several servers may have one ledger. */
  readonly audience: string
}

/** Claims that all calls of this caller to this tool share. */
export function sharedClaims(call: Call, name: string, { ledger, audience }: SharedClaimsOptions): SharedClaims {
  const { principal, method } = call
  return {
    ledger,
    scope: () => [audience, principal?.id ?? null, method, name],
    caller: () => knownCaller(call),
  }
}

/** Questions with `by` that the caller of a run may answer. */
export function callersApproval(
  caller: () => Pick<Call, 'principal'>,
  { approval }: { readonly approval: Approval | undefined },
): Pick<RunSetup, 'approver'> {
  if (approval === undefined) return {}
  return {
    approver: (approvers) => {
      const { principal } = caller()
      return approval.includes(approvers, principal, true) ? answererOf(principal) : undefined
    },
  }
}

export function assertResponses(responses: unknown): asserts responses is Json | undefined {
  if (responses !== undefined && !isObject(responses))
    throw new ProtocolError('PARAMS_INVALID', '"inputResponses" must be an object.')
}
