/** A server: what it offers, and the hosts it can be reached by. */
import type { IncomingMessage } from 'node:http'
import { assemble, type Assembly } from './assemble.ts'
import type {
  CompletionHandler,
  CompletionTarget,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ResourceTemplateHandler,
  ToolHandler,
  ToolOptions,
} from './definitions.ts'
import { promptEntry, resourceEntry, templateEntry, toolEntry } from './entries.ts'
import { fetchHandler } from './fetchHost.ts'
import { createGuard, type GuardOptions, isLoopback } from './guard.ts'
import {
  type Listening,
  type ListenOptions,
  listen,
  type NodeHandler,
  type NodeHandlerOptions,
  nodeHandler,
} from './nodeHost.ts'
import type { ServerOptions } from './options.ts'
import type { ListName } from './registry.ts'
import type { SchemaLike } from './schema.ts'
import { onTerm } from './signals.ts'
import { type StdioOptions, serveStdio } from './stdioHost.ts'

export interface DrainOptions {
  /** How long calls under way may take to finish or hand over, in milliseconds. @default 25000 */
  deadlineMs?: number
}

export class Server {
  readonly #assembly: Assembly
  readonly #listening = new Set<Listening>()
  #fetch: ((request: Request) => Promise<Response>) | undefined
  #drained: Promise<void> | undefined

  constructor(options: ServerOptions) {
    this.#assembly = assemble(options)
  }

  /** A tool a model can call. */
  tool<I extends SchemaLike = Record<string, never>, O extends SchemaLike = SchemaLike>(
    name: string,
    options: ToolOptions<I, O>,
    handler: ToolHandler<I>,
  ): this {
    this.#assembly.registry.addTool(toolEntry(name, options as ToolOptions<SchemaLike>, handler as ToolHandler))
    return this
  }

  /** A prompt a person can pick. */
  prompt<I extends SchemaLike = Record<string, never>>(
    name: string,
    options: PromptOptions<I>,
    handler: PromptHandler<I>,
  ): this {
    this.#assembly.registry.addPrompt(promptEntry(name, options as PromptOptions<SchemaLike>, handler as PromptHandler))
    return this
  }

  /** Something to read at one address. */
  resource(uri: string, options: ResourceOptions, handler: ResourceHandler): this {
    this.#assembly.registry.addResource(resourceEntry(uri, options, handler))
    return this
  }

  /** Something to read at every address that fits, such as `docs://{name}`. */
  resourceTemplate(uriTemplate: string, options: ResourceOptions, handler: ResourceTemplateHandler): this {
    this.#assembly.registry.addTemplate(templateEntry(uriTemplate, options, handler))
    return this
  }

  /** Suggestions while a person types an argument. */
  completion(target: CompletionTarget, handler: CompletionHandler): this {
    this.#assembly.registry.addCompletion(target, { handler })
    return this
  }

  /** Takes a tool, prompt or resource away again. */
  remove(list: ListName, name: string): boolean {
    return this.#assembly.registry.remove(list, name)
  }

  /** Tells clients that a list is no longer what it was. Adding and removing entries does this by itself. */
  changed(list: ListName): void {
    this.#assembly.bus.publish({ kind: 'changed', list })
  }

  /** Tells clients that watch a resource that it has new content. */
  updated(uri: string): void {
    this.#assembly.bus.publish({ kind: 'updated', uri })
  }

  /** Serves HTTP by itself. On SIGTERM it drains. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    const { logger, door, documents, keyring } = this.#assembly
    await logger.defaultToPino(2)
    this.#assembly.sayKeys()
    const { server: _, ...listening } = await listen({ door, documents }, options)
    this.#listening.add(listening)
    onTerm(() => this.drain())
    logger.current.info({ url: listening.url, keys: keyring.ids }, 'Listening.')
    return listening
  }

  /** Answers one web-standard request. Host and Origin checks follow `allowedHosts` given to `createServer`. */
  readonly fetch = (request: Request): Promise<Response> => {
    this.#fetch ??= this.fetchHandler()
    return this.#fetch(request)
  }

  /** `fetch` with checks of its own. */
  fetchHandler(options: GuardOptions & { maxBodyBytes?: number } = {}): (request: Request) => Promise<Response> {
    const local = createGuard(options, true)
    const open = createGuard(options, false)
    // A request that arrives for a local name is held to local names; for others the framework in front decides.
    const guard: typeof open = (header) =>
      isLoopback((header('host') ?? '').replace(/:\d+$/, '')) ? local(header) : open(header)
    return fetchHandler(this.#assembly.door, guard, options.maxBodyBytes)
  }

  /** A handler for `node:http`, Express or Fastify. */
  nodeHandler(options: NodeHandlerOptions = {}): NodeHandler {
    const local = nodeHandler(this.#assembly.door, createGuard(options, true), options.maxBodyBytes)
    const open = nodeHandler(this.#assembly.door, createGuard(options, false), options.maxBodyBytes)
    return (req: IncomingMessage, res) => (isLoopback(req.socket.localAddress ?? '') ? local : open)(req, res)
  }

  /** Serves standard input and output until the input ends. */
  async stdio(options: StdioOptions = {}): Promise<void> {
    const { logger } = this.#assembly
    await logger.defaultToPino(2)
    onTerm(() => this.drain())
    await serveStdio(this.#assembly, options)
  }

  /** Calls under way right now. */
  get inFlight(): number {
    return this.#assembly.load.inFlight
  }

  /** Ends subscriptions, lets calls under way finish or hand over at their next checkpoint, and closes the listeners. */
  drain({ deadlineMs = 25_000 }: DrainOptions = {}): Promise<void> {
    this.#drained ??= this.#drain(deadlineMs)
    return this.#drained
  }

  async #drain(deadlineMs: number): Promise<void> {
    const { load, subscriptions, standalone, logger } = this.#assembly
    logger.current.info({ inFlight: load.inFlight }, 'Draining.')
    const idle = load.drain(deadlineMs)
    subscriptions.close()
    standalone.closeAll()
    const closed = Promise.all(Array.from(this.#listening, (listening) => listening.close()))
    await idle
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1000).unref())])
    logger.current.info({ inFlight: load.inFlight }, 'Drained.')
  }
}

export function createServer(options: ServerOptions): Server {
  return new Server(options)
}
