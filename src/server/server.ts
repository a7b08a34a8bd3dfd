/** The public server: registers what it offers, and starts the hosts that serve it. */
import { assemble, type ServerParts, type Wings } from './assemble.ts'
import {
  assertHandlerOptions,
  assertListenOptions,
  assertStdioOptions,
  drainOnTerm,
  isSupervised,
  lineLogger,
  listen,
  nodeHandler,
  reachableHost,
  readAdvertised,
  serveConnection,
  withRedirectedConsole,
} from '#runtime/server/node/hosts'
import type { Listening, ListenOptions } from './http/listen.ts'
import type {
  CompletionHandler,
  CompletionTarget,
  DetachingToolHandler,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ResourceTemplateHandler,
  ToolHandler,
  ToolOptions,
} from './catalog/definitions.ts'
import type { Middleware } from './calls/middleware.ts'
import type { HookedMethod, ResultHook } from './calls/resultHooks.ts'
import { completionEntry, promptEntry, resourceEntry, templateEntry, toolEntry } from './catalog/entries.ts'
import { errorDetails } from './logger.ts'
import { assertNamed, type Principal } from './auth/authenticator.ts'
import { FETCH_OPTIONS, type FetchHandler, type FetchHandlerOptions, fetchHandler } from './http/fetch.ts'
import type { GuardOptions } from './http/hostGuard.ts'
import { type EndpointParts, type HandlerOptions, pagesOnly } from './http/endpoint.ts'
import type { NodeHandler } from './http/node.ts'
import { assertOptionNames } from '../protocol/index.ts'
import type { ServerQuestions } from './questions/openQuestions.ts'
import { SERVER_OPTIONS, type ServerOptions } from './options.ts'
import type { ListName } from './catalog/registry.ts'
import type { SchemaLike } from './schema/schema.ts'
import { ignoreRejectedAsks } from './lifecycle/processSignals.ts'
import { assertDrainOptions, type DrainOptions, Shutdown } from './lifecycle/shutdown.ts'
import type { ClusterPart } from './clusterPart.ts'
import type { StdioOptions } from './stdio/host.ts'

/** A server's tools, prompts and resources, and the ways to mount it. */
export class Server {
  readonly #assembly: ServerParts
  readonly #shutdown: Shutdown
  readonly #checks: GuardOptions
  readonly #knowsCallers: boolean
  #fetch: FetchHandler | undefined
  #ignoreTerm: () => void = () => {}

  constructor(options: ServerOptions, wings: Wings<ClusterPart | undefined>) {
    assertOptionNames(options, SERVER_OPTIONS, 'createServer')
    this.#assembly = assemble(options, wings)
    this.#shutdown = new Shutdown(this.#assembly)
    this.#knowsCallers = options.principal !== undefined
    const { allowedHosts, allowedOrigins } = options
    this.#checks = { allowedHosts, allowedOrigins }
  }

  /** Adds a tool that models can call. */
  tool<I extends SchemaLike = Record<string, never>, O extends SchemaLike = never>(
    name: string,
    options: ToolOptions<I, O> & { startsAs: 'call' },
    handler: DetachingToolHandler<I, NoInfer<O>>,
  ): this
  tool<I extends SchemaLike = Record<string, never>, O extends SchemaLike = never>(
    name: string,
    options: ToolOptions<I, O>,
    handler: ToolHandler<I, NoInfer<O>>,
  ): this
  tool(name: string, options: ToolOptions<SchemaLike>, handler: DetachingToolHandler): this {
    const { registry, tasks, questionsPart } = this.#assembly
    const entry = toolEntry(name, options, handler)
    if (entry.task !== undefined && tasks === undefined) {
      throw new TypeError(
        `The tool "${name}" runs as a task, so the server needs a task store: createServer({ tasks: sqliteTasks({ path }) }).`,
      )
    }
    registry.addTool(entry)
    if (entry.task !== undefined || questionsPart !== undefined) tasks?.serve(name)
    return this
  }

  /** Adds a prompt that people can choose. */
  prompt<I extends SchemaLike = Record<string, never>>(
    name: string,
    options: PromptOptions<I>,
    handler: PromptHandler<I>,
  ): this {
    this.#assembly.registry.addPrompt(promptEntry(name, options, handler))
    return this
  }

  /** Adds a resource with a fixed URI. */
  resource(uri: string, options: ResourceOptions, handler: ResourceHandler): this {
    this.#assembly.registry.addResource(resourceEntry(uri, options, handler))
    return this
  }

  /** Adds a resource for every URI that matches a template, such as `docs://{name}`. */
  resourceTemplate(uriTemplate: string, options: ResourceOptions, handler: ResourceTemplateHandler): this {
    this.#assembly.registry.addTemplate(templateEntry(uriTemplate, options, handler))
    return this
  }

  /** Adds suggestions for an argument while a person types it. */
  completion(target: CompletionTarget, handler: CompletionHandler): this {
    this.#assembly.registry.addCompletion(target, completionEntry(handler))
    return this
  }

  /** Adds a middleware around tools, prompts and resources. The first one added is the outermost. */
  use(middleware: Middleware): this {
    this.#assembly.middleware.add(middleware)
    return this
  }

  /**
   * Adds a hook for the results of a method that has no handler, such as tools/list. It reads and sets the client's
   * state through `ctx.state`.
   */
  onResult(method: HookedMethod, hook: ResultHook): this {
    this.#assembly.hooks.add(method, hook)
    return this
  }

  /** Removes a tool, prompt or resource. */
  remove(list: ListName, name: string): boolean {
    return this.#assembly.registry.remove(list, name)
  }

  /** Notifies clients that a list has changed. Adding and removing entries does this by itself. */
  changed(list: ListName): void {
    this.#assembly.bus.publish({ kind: 'changed', list })
  }

  /** Notifies the clients that watch a resource that its content has changed. */
  updated(uri: string): void {
    this.#assembly.bus.publish({ kind: 'updated', uri })
  }

  /** Starts an HTTP server. On SIGTERM it drains. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    assertListenOptions(options)
    return this.#listen(this.#assembly.endpoint, options)
  }

  async #listen(endpoint: EndpointParts, options: ListenOptions): Promise<Listening> {
    const { logger, keyring, clusterPart } = this.#assembly
    const { cluster } = clusterPart ?? {}
    logger.defaultTo(lineLogger)
    this.#warnOfSetup()
    await this.#assembly.open()
    this.#assembly.declaration.reachedBy('http')
    const listener = await listen(endpoint, { ...this.#checks, ...options })
    const { connections, address, front, ready, ...listening } = listener
    if (cluster !== undefined && options.advertise !== undefined)
      cluster.self.url = readAdvertised(options.advertise, 'The option "advertise"')
    if (cluster?.self.url !== undefined) void cluster.checkAddress()
    const { pathname } = new URL(listening.url)
    const own = `http://${reachableHost(address)}:${listening.port}${pathname}`
    this.#assembly.questionsPart?.listensAt(front ?? own)
    if (cluster !== undefined) cluster.self.url ??= own
    this.#shutdown.addListener(connections)
    this.#watchSignals(options.drainOnTerm)
    // Other instances look for the running calls of a dead instance only if they knew it.
    await cluster?.seek()
    ready?.()
    logger.current.info({ url: listening.url, advertise: cluster?.self.url, keys: keyring.ids }, 'Listening.')
    return listening
  }

  /** Answers one web-standard request. Host and Origin checks follow `allowedHosts` given to `createServer`. */
  readonly fetch: FetchHandler = (...request) => {
    this.#fetch ??= this.fetchHandler()
    return this.#fetch(...request)
  }

  /** A `fetch` with its own Host and Origin checks, or for one caller. */
  fetchHandler(options: FetchHandlerOptions = {}): FetchHandler {
    assertOptionNames(options, FETCH_OPTIONS, 'fetchHandler')
    const { principal } = options
    const parts = principal === undefined ? this.#assembly.endpoint : this.#endpointFor(principal)
    this.#mount('fetch')
    return fetchHandler(parts, { ...this.#checks, ...options })
  }

  /** A handler for `node:http`, Express or Fastify. */
  nodeHandler(options: HandlerOptions = {}): NodeHandler {
    assertHandlerOptions(options)
    this.#mount('nodeHandler')
    return nodeHandler(this.#assembly.endpoint, { ...this.#checks, ...options })
  }

  /** Serves standard input and output until the input ends. */
  async stdio(options: StdioOptions = {}): Promise<void> {
    assertStdioOptions(options)
    const serve = (): Promise<void> => this.#serveStdio(options)
    if ((options.output ?? process.stdout) !== process.stdout) return serve()
    if (isSupervised()) return this.#serveOverHttp(options)
    return withRedirectedConsole(this.#assembly.logger, serve)
  }

  /** In place of standard input and output, which do not outlive the process. */
  async #serveOverHttp({ principal, drainOnTerm }: StdioOptions): Promise<void> {
    const endpoint = principal === undefined ? this.#assembly.endpoint : this.#endpointFor(principal)
    await this.#listen(endpoint, { ...(drainOnTerm !== undefined && { drainOnTerm }) })
    return new Promise(() => {})
  }

  async #serveStdio(options: StdioOptions): Promise<void> {
    const { logger, access } = this.#assembly
    logger.defaultTo(lineLogger)
    if (options.principal === undefined) access.warnOfScopes(logger, 'give stdio a "principal".')
    this.#watchSignals(options.drainOnTerm)
    await this.#assembly.open()
    this.#assembly.declaration.reachedBy('stdio')
    const pages = await this.#servePages()
    await serveConnection(this.#assembly, options, this.#shutdown.hosts)
    await pages?.connections.close(0)
    this.#ignoreTerm()
  }

  /** A connection of standard input and output has no address, so that the pages of questions get one of this machine. */
  async #servePages() {
    const { questionsPart, endpoint } = this.#assembly
    if (questionsPart === undefined || questionsPart.hasAddress) return undefined
    const listening = await listen(pagesOnly(endpoint), {})
    questionsPart.listensAt(listening.url)
    return listening
  }

  /** Why the server does not run tasks now, in a sentence: their store fails. Undefined while it works, and without one. */
  get trouble(): string | undefined {
    return this.#assembly.tasks?.trouble?.()
  }

  /** The open questions, for a page or a program of your own. They are stored with the tasks. */
  get questions(): ServerQuestions {
    const { questions } = this.#assembly
    if (questions !== undefined) return questions
    throw new TypeError('Questions are stored with tasks: createServer({ tasks: sqliteTasks({ path }) }).')
  }

  /** The number of calls in flight. */
  get inFlight(): number {
    return this.#assembly.load.inFlight
  }

  /**
   * Ends subscriptions, lets calls in flight finish or hand over at their next checkpoint, and closes the listeners.
   */
  async drain(options: DrainOptions = {}): Promise<void> {
    assertDrainOptions(options)
    await this.#shutdown.drain(options)
    this.#ignoreTerm()
  }

  /** An endpoint whose callers are all this one. */
  #endpointFor(principal: Principal): EndpointParts {
    assertNamed(principal)
    if (!this.#knowsCallers)
      throw new TypeError(
        'A handler with a principal needs a server that knows its callers: createServer({ principal }).',
      )
    return { ...this.#assembly.endpoint, authenticate: () => principal }
  }

  /** Prepares the server for requests that another HTTP server hands to it. */
  #mount(handler: 'fetch' | 'nodeHandler'): void {
    const { declaration, logger, keyring } = this.#assembly
    this.#warnOfSetup()
    declaration.reachedBy('http')
    this.#openSoon()
    ignoreRejectedAsks()
    logger.current.info({ handler, keys: keyring.ids }, 'Mounted.')
  }

  /** Opens the task store while the handler serves already. Requests that need it wait, or fail with its error. */
  #openSoon(): void {
    const { logger } = this.#assembly
    this.#assembly.open().catch((error: unknown) => {
      logger.current.error(
        { err: errorDetails(error) },
        'The task store could not be opened; each request that needs it tries again.',
      )
    })
  }

  /** Warns of features that callers over HTTP would miss. */
  #warnOfSetup(): void {
    const { access, logger, warnOfMissingKeys } = this.#assembly
    warnOfMissingKeys()
    if (!this.#knowsCallers) access.warnOfScopes(logger, 'give createServer a "principal".')
  }

  #watchSignals(drains = true): void {
    ignoreRejectedAsks()
    if (drains) this.#ignoreTerm = drainOnTerm(() => this.drain())
  }
}
