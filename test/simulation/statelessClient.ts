/** A client of the stateless era: each round of a call goes where the balancer sends it, with the state of the one before. */
import { envelope, VERSION } from '../fixtures/modernClient.ts'
import { type Answered, exchange, pause } from './http.ts'
import { OUTCOME_WITHIN_MS, type ObservedCall } from './observer.ts'
import { type ClientOptions, endCall } from './sessionClient.ts'
import { TOOLS, type ToolName } from './tools.ts'
import { Host } from './world.ts'

type Round = {
  readonly result?: {
    readonly resultType?: string
    readonly inputRequests?: Readonly<Record<string, { readonly params: { readonly message: string } }>>
    readonly requestState?: string
  }
}

export class StatelessClient {
  readonly host: Host
  isDone = false
  readonly #options: ClientOptions
  #nextId = 1

  constructor(options: ClientOptions) {
    this.#options = options
    this.host = new Host(options.name)
    options.world.schedule(this.host, 300 + options.random.next() * 1500, () => void this.#run())
  }

  async #run(): Promise<void> {
    for (const [index, tool] of this.#options.tools.entries()) await this.#call(`${this.host.name}.${index}`, tool)
    this.isDone = true
  }

  async #call(name: string, tool: ToolName): Promise<void> {
    const { observer, random, world } = this.#options
    const call = observer.begin(name, tool, 'stateless')
    let params: object = { name: tool, arguments: { call: name } }
    while (call.outcome === undefined && world.now - call.beganAt < OUTCOME_WITHIN_MS) {
      const answered = await this.#round(call, params)
      if (answered.kind !== 'replied') {
        if (!this.#mayRepeat(call, answered)) observer.told(call, 'the connection was lost')
        await pause(50 + random.next() * 300)
      } else if (answered.status !== 503) params = await this.#read(call, answered.body, params)
    }
  }

  /** A single use may be asked for again; a step may not, where its client does not want it twice. */
  #mayRepeat(call: ObservedCall, answered: Answered): boolean {
    if (answered.kind === 'failed' && answered.code === 'ECONNREFUSED') return true
    call.isRepeated = true
    return TOOLS[call.tool].effect !== 'step'
  }

  async #read(call: ObservedCall, body: string, params: object): Promise<object> {
    const { observer, random } = this.#options
    const round = JSON.parse(body) as Round
    const { resultType, inputRequests = {}, requestState } = round.result ?? {}
    if (resultType !== 'input_required') {
      endCall(observer, call, round as Parameters<typeof endCall>[2])
      return params
    }
    await pause(10 + random.next() * (random.chance(0.3) ? 4000 : 300))
    const inputResponses = Object.fromEntries(
      Object.entries(inputRequests).map(([id, request]) => {
        const key = observer.asked(call, request.params.message)
        const answer = `${call.name}/${key}`
        call.answers.set(key, answer)
        return [id, { action: 'accept', content: { answer } }]
      }),
    )
    return { ...params, inputResponses, requestState }
  }

  #round(call: ObservedCall, params: object): Promise<Answered> {
    const { network, balance } = this.#options
    const message = {
      jsonrpc: '2.0',
      id: this.#nextId++,
      method: 'tools/call',
      params: { ...params, _meta: envelope({ elicitation: {} }) },
    }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': call.tool,
    }
    const label = (): string => `round of ${call.name}`
    const mayRepeat = TOOLS[call.tool].effect === 'once'
    return exchange(network, this.host, balance(), {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
      label,
      mayRepeat,
    })
  }
}
