/**
 * Calls of tools under the rules: each is relayed, denied, or held until a person has approved it. Where the gateway has
 * a store, calls of clients that cannot be asked are held as well, for the questions of their servers.
 */
import { isObject, type Json, ProtocolError } from '../../../protocol/index.ts'
import type { Call, MethodParts } from '../../../server/internal.ts'
import { digestOf } from '../../../state/internal.ts'
import { whyAbsent } from '../../backends/connector.ts'
import { toolError } from '../../catalog/index.ts'
import { notThere } from '../../errors.ts'
import { asAskable, plainly } from '../../links/relayed.ts'
import { isReplayable } from '../../parking/claim.ts'
import { approvalQuestion, GatewayQuestions, type HeldCall, type HeldInput } from '../../questions/index.ts'
import type { RuleDecision } from '../../rules/index.ts'
import { callerText } from '../../telemetry/recentCalls.ts'
import type { BackendTarget } from '../contents.ts'
import type { RouteDirectory } from '../directory.ts'
import type { OwnLists } from '../ownLists.ts'
import { Relay, type RelayOptions } from '../relay.ts'
import { mirroredHeaders, recordedTarget } from '../relayedCall.ts'
import { taskModeOf } from '../tasks/source.ts'

export interface RuledCallsOptions extends RelayOptions {
  /** The common directory. */
  readonly directory: RouteDirectory
  /** The directories of callers, if they differ from the common one. */
  readonly own: Pick<OwnLists, 'directory' | 'refreshed' | 'visible'>
  /** Undefined for a gateway without a store: then no call is held. */
  readonly questions: GatewayQuestions | undefined
}

/** A tool by its name on the route, with arguments. */
export interface NamedCall {
  readonly name: string
  readonly arguments: unknown
}

/** A decision over a call of a tool that its server lists. */
interface RuledTarget {
  readonly found: BackendTarget
  readonly decision: RuleDecision
}

export class RuledCalls {
  readonly relay: Relay
  readonly #options: RuledCallsOptions
  readonly #results: MethodParts['results']

  constructor(options: RuledCallsOptions, parts: MethodParts) {
    this.#options = options
    this.#results = parts.results
    this.relay = new Relay(options, parts)
  }

  /** Calls a tool if no rule denies it. Otherwise the result says why, so that a model can read it. */
  async call(call: Call, target: BackendTarget, named: NamedCall): Promise<string> {
    const { rules, questions } = this.#options
    const isHeld = questions !== undefined && isForPeople(call, target)
    if (rules.isEmpty && !isHeld) return this.relay.tool(call, target, named.arguments)
    const { found, decision } = await this.#decide(call, target, named)
    this.#report(call, found, decision, named.arguments)
    switch (decision.outcome) {
      case 'allow':
        if (isHeld) return this.#hold(questions, call, { found, decision }, named)
        return this.relay.tool(call, found, named.arguments)
      case 'approve':
        return this.#approved(call, { found, decision }, named)
      case 'deny':
      case 'depends':
        return this.#refuse(call, deniedText(decision))
    }
  }

  /** Throws if a rule denies the server to this caller, and with it prompts and resources. */
  assertOpen(call: Call, target: BackendTarget): void {
    const { rules } = this.#options
    if (rules.isEmpty) return
    const decision = rules.ofServer(call.principal, target.backend)
    if (decision.outcome !== 'deny') return
    this.#report(call, target, decision)
    throw new ProtocolError('PARAMS_INVALID', deniedText(decision))
  }

  /** A call that waited. It is sent only if its tool, definition and rule are still those of its input. */
  async held(call: Call, input: HeldInput): Promise<HeldCall> {
    const named = { name: input.name, arguments: input.arguments }
    await this.#targetOf(call, input.name).backend.connector.tried
    const target = this.#targetOf(call, input.name)
    const decided = this.#decided(call, target, named)
    const approval = this.#questionOf(call, target, named, decided.decision)
    const isSame = this.#inputOf(call, decided, named).rule === input.rule && typeof approval !== 'string'
    const { rule = '' } = decided.decision
    if (isSame) return this.#heldCall(call, target, input, approval, rule)
    return { ...this.#heldCall(call, target, input, undefined, rule), send: async () => ({ ...toolError(CHANGED) }) }
  }

  /** A call that a rule wants to be approved. */
  async #approved(call: Call, decided: RuledTarget, named: NamedCall): Promise<string> {
    const { questions } = this.#options
    const { found } = decided
    if (call.forwardedBy !== undefined) {
      const input = this.#inputOf(call, decided, named)
      if (call.approved !== approvedBy(call, input)) return this.#refuse(call, CHANGED)
      return this.relay.tool(call, found, named.arguments)
    }
    if (questions === undefined) return this.#refuse(call, NO_STORE)
    if (isObject(call.params['task'])) throw new ProtocolError('METHOD_UNKNOWN', NO_TASK)
    return this.#hold(questions, call, decided, named)
  }

  async #hold(questions: GatewayQuestions, call: Call, decided: RuledTarget, named: NamedCall): Promise<string> {
    const { found, decision } = decided
    const { backend, listed } = found
    if (named.arguments !== undefined && !isObject(named.arguments))
      throw new ProtocolError('PARAMS_INVALID', '"params.arguments" must be an object.')
    if (backend.config.settings.forwardAuthorization && decision.outcome === 'approve')
      return this.#refuse(call, NO_TOKEN)
    const approval = this.#questionOf(call, found, named, decision)
    if (typeof approval === 'string') return this.#refuse(call, approval)
    const input = this.#inputOf(call, decided, named)
    const { rule = '' } = decision
    const { recorder } = this.#options
    const target = recordedTarget(call, found)
    if (approval !== undefined) recorder.waits(call, target, input.arguments, rule)
    return recorder.hold(call, target, input.arguments, (round) => {
      if (approval !== undefined) round.event('approval', `waits by the rule ${rule}`)
      const held = this.#heldCall(call, found, input, approval, rule)
      const answered: typeof held.answered = (answer) => {
        const by = answer.by === undefined ? '' : ` by ${callerText(answer.by)}`
        round.event('approval', `${answer.isApproved ? 'approved' : 'declined'}${by}`)
        return held.answered(answer)
      }
      return questions.run(call, {
        input,
        held: { ...held, answered },
        hasOutput: listed?.['outputSchema'] !== undefined,
        answerSeconds: approval?.seconds ?? backend.config.settings.parkSeconds,
      })
    })
  }

  #heldCall(
    call: Call,
    target: BackendTarget,
    input: HeldInput,
    approval: HeldCall['approval'],
    rule: string,
  ): HeldCall {
    const { backend, name, listed } = target
    return {
      server: backend.name,
      name,
      shownAs: this.#options.rules.nameOf(target),
      approval,
      // A parked call knows its rounds: each has one end, however often it comes.
      mayRepeat: (round) => isReplayable(call, backend, listed) || (round > 1 && backend.era === 'legacy'),
      answered: async (answer) => {
        const way = await this.#options.questions?.wayOf(answer)
        this.#options.recorder.answered(call, recordedTarget(call, target), input.arguments, { ...answer, rule, way })
      },
      answeredServer: async (answer) => {
        const way = await this.#options.questions?.wayOf(answer)
        this.#options.recorder.answered(call, recordedTarget(call, target), input.arguments, { ...answer, way })
      },
      send: (brought) => this.#send(call, input, brought),
    }
  }

  /** Sends a round, unless the approved call has changed meanwhile. */
  async #send(call: Call, input: HeldInput, brought: Json): Promise<Json> {
    const named = { name: input.name, arguments: input.arguments }
    const target = this.#targetOf(call, input.name)
    const decided = await this.#decide(call, target, named)
    const { found, decision } = decided
    if (decision.outcome !== 'allow' && decision.outcome !== 'approve') return { ...toolError(deniedText(decision)) }
    if (circumstancesOf(this.#inputOf(call, decided, named)) !== circumstancesOf(input))
      return { ...toolError(CHANGED) }
    const approved = input.rule === '' ? undefined : approvedBy(call, input)
    return this.#round({ ...call, approved }, found, input.arguments, brought)
  }

  /** One round of a call whose forms are answered elsewhere: the result, or the questions of the server. */
  async #round(call: Call, found: BackendTarget, args: Json, brought: Json): Promise<Json> {
    const { task: _, requestState: __, inputResponses: ___, ...params } = call.params
    const { resumed: ____, ...first } = plainly(call)
    const round = asAskable({ ...first, params: { ...params, name: found.name, arguments: args, ...brought } })
    await found.backend.connector.tried
    return JSON.parse(await this.relay.call(round, found, round.params, mirroredHeaders(found, args))) as Json
  }

  #inputOf(call: Call, { found, decision }: RuledTarget, named: NamedCall): HeldInput {
    const { path } = this.#options
    const { principal, peer } = call
    return {
      route: path,
      name: named.name,
      arguments: isObject(named.arguments) ? named.arguments : {},
      server: found.backend.name,
      definition: digestOf([found.name, found.listed ?? null]),
      rule: decision.approval === undefined ? '' : digestOf({ ...decision.approval }),
      ...(principal === undefined && peer.session !== undefined && { session: peer.session }),
    }
  }

  #questionOf(
    { principal }: Call,
    { backend, name }: BackendTarget,
    named: NamedCall,
    { approval }: RuleDecision,
  ): HeldCall['approval'] | string {
    if (approval === undefined) return undefined
    const args = isObject(named.arguments) ? named.arguments : {}
    const caller = principal?.subject ?? principal?.id
    return approvalQuestion({ server: backend.name, tool: name, args, caller }, approval)
  }

  #targetOf(call: Call, name: string): BackendTarget {
    const { own, directory } = this.#options
    const target = (own.directory(call) ?? directory).tool(name)
    if (target === undefined) throw noTool(name)
    return target
  }

  async #decide(call: Call, target: BackendTarget, named: NamedCall): Promise<RuledTarget> {
    const found = target.listed === undefined ? await this.#listed(call, target, named.name) : target
    return this.#decided(call, found, named)
  }

  #decided(call: Call, found: BackendTarget, named: NamedCall): RuledTarget {
    const { rules } = this.#options
    return { found, decision: rules.isEmpty ? NO_RULES : rules.ofCall(call.principal, found, named.arguments) }
  }

  /** Rules judge the definition of a tool, so unlisted tools cannot be called. */
  async #listed(call: Call, { backend }: BackendTarget, name: string): Promise<BackendTarget> {
    await backend.connector.tried
    const own = await this.#options.own.refreshed(call, backend)
    const found = (own ?? this.#options.directory).tool(name)
    if (found?.listed !== undefined && found.backend === backend) return found
    const why = backend.connector.about === undefined ? whyAbsent(backend.connector.condition) : undefined
    throw why === undefined ? noTool(name) : notThere(backend.name, why)
  }

  #report(call: Call, target: BackendTarget, { dryRun, ...decision }: RuleDecision, args?: unknown): void {
    const recorded = recordedTarget(call, target)
    for (const [each, isDenied] of [[decision, true] as const, [dryRun, false] as const])
      if (each !== undefined && each.outcome !== 'allow' && !(isDenied && each.outcome === 'approve'))
        this.#options.recorder.decided(call, recorded, isObject(args) ? args : undefined, {
          isDenied,
          rule: each.rule,
          failure: each.failure,
        })
  }

  #refuse(call: Call, why: string): string {
    return this.#results.complete(toolError(why), call.peer)
  }
}

/** Whether forms of the server are answered by people elsewhere. A call that is a task asks its client later. */
function isForPeople(call: Call, target: BackendTarget): boolean {
  if (call.forwardedBy !== undefined || !GatewayQuestions.answers(call)) return false
  return !target.backend.config.settings.forwardAuthorization && taskModeOf(call, target) === 'plain'
}

/** Everything but the arguments, which are the same. */
function circumstancesOf(input: HeldInput): string {
  return digestOf({ ...input, arguments: {} })
}

/** What was approved, for the gateway that the call is forwarded to. */
function approvedBy({ principal }: Call, input: HeldInput): string {
  return digestOf([principal?.id ?? null, input])
}

export function noTool(name: string): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', `There is no tool "${name.slice(0, 100)}".`)
}

function deniedText({ rule, reason }: RuleDecision): string {
  return `Not allowed: ${reason}${rule === undefined || reason.includes(rule) ? '' : ` (${rule})`}`
}

const NO_RULES: RuleDecision = { outcome: 'allow', reason: 'There are no rules.' }
const CHANGED = 'Not sent: the tool, its definition or the rules have changed since this call was made. Call again.'
const NO_STORE =
  'Not allowed: this call needs an approval, and the gateway has no store to let it wait. Its operator has to set "store".'
const NO_TASK = 'This call needs an approval, and such a call is no task here; call the tool without "params.task".'
const NO_TOKEN =
  'Not allowed: this call needs an approval, and its server gets the token of the caller with each call, which the gateway does not keep. Its operator has to give the server other credentials.'
