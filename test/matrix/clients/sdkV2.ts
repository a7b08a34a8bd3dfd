/** The official SDK v2 in a session or stateless; stateless with the official client of the tasks extension. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  type CreateTaskSessionFromClientOptions,
} from '@modelcontextprotocol/ext-tasks/client'
import { envelope, TAKES_TASKS, TaskCaller, VERSION } from '../../fixtures/modernClient.ts'
import {
  allPages,
  answersOf,
  CAPABILITIES,
  type Connecting,
  headersOf,
  type Heard,
  type MatrixClient,
  RECONNECTION,
  type ToolResult,
} from './client.ts'

const LOG_LEVEL = { 'io.modelcontextprotocol/logLevel': 'info' }

export async function connectSdkV2(connecting: Connecting, isStateless: boolean): Promise<MatrixClient> {
  const { url, heard, timeout } = connecting
  const mode = isStateless ? 'auto' : 'legacy'
  const client = new Client({ name: 'v2', version: '1' }, { capabilities: CAPABILITIES, versionNegotiation: { mode } })
  const answers = answersOf(connecting)
  client.setRequestHandler('elicitation/create', ({ params }) => answers.elicit(params))
  client.setRequestHandler('sampling/createMessage', ({ params }) => answers.sample(params))
  client.setRequestHandler('roots/list', answers.roots)
  const requestInit = { headers: headersOf(connecting) }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit, reconnectionOptions: RECONNECTION }),
    timeout === undefined ? {} : { timeout },
  )
  return {
    ...sdkMethods(client, heard, isStateless),
    ...(isStateless && { task: extensionTask(client, connecting) }),
  }
}

/** What `connect` of ours has, too, because it gives this client. */
export function sdkMethods(client: Client, heard: Heard, isStateless: boolean): MatrixClient {
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.logs.push(String(params.data)))
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.updated.push(params.uri))
  client.setNotificationHandler('notifications/tools/list_changed', () => void heard.lists++)
  let meta: object = {}
  return {
    call: async (tool, args, options) =>
      (await client.callTool(
        { name: tool, arguments: args, ...meta },
        { ...options, onprogress: () => void heard.progress++ },
      )) as unknown as ToolResult,
    hearLogs: async () => {
      if (isStateless) meta = { _meta: LOG_LEVEL }
      else await client.setLoggingLevel('info')
    },
    listen: async (uri) => {
      if (isStateless)
        return client.listen(uri === undefined ? { toolsListChanged: true } : { resourceSubscriptions: [uri] })
      return uri !== undefined && client.subscribeResource({ uri })
    },
    resources: () =>
      allPages(async (cursor) => (await client.listResources(cursor === undefined ? {} : { cursor })) as never),
    close: () => client.close().catch(() => {}),
  }
}

/** The official client of the extension makes tasks by the SDK's client, and its other requests as it is told. */
function extensionTask(client: Client, connecting: Connecting): MatrixClient['call'] {
  const { url } = connecting
  const wire = new TaskCaller(url, { headers: headersOf(connecting) })
  const capabilities = { ...TAKES_TASKS, ...CAPABILITIES }
  const answers = answersOf(connecting)
  const options: unknown = {
    endpointId: url,
    onInputRequest: ({ params }: { params: { message?: unknown } }) => answers.elicit(params),
    rawDispatch: async ({ method, params }: { method: string; params: Record<string, unknown> }) => {
      const { message } = await wire.send(method, params)
      return 'result' in message ? { kind: 'result', result: message.result } : { kind: 'error', error: message.error }
    },
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: envelope()['io.modelcontextprotocol/clientInfo'],
      clientCapabilities: capabilities,
    },
  }
  return async (tool, args) => {
    const tasks = createTaskSessionFromClient(client, options as CreateTaskSessionFromClientOptions)
    try {
      const execution = await tasks.callTool(tool, args as { key: string }, { task: { preference: 'require' } })
      const { outcome } = (await execution.settle()) as unknown as {
        outcome: { status: string; result?: ToolResult; error?: Error }
      }
      if (outcome.result !== undefined) return outcome.result
      throw outcome.error ?? new Error(`The task is ${outcome.status}.`)
    } catch (error) {
      throw withCauses(error)
    } finally {
      await tasks.close()
    }
  }
}

/**
 * The client of the extension says "MCP client request failed" of whatever ends a request, such as a balancer that answers
 * HTTP 502 or a connection that breaks off. What it was is in its causes.
 */
function withCauses(error: unknown): Error {
  const sentences: string[] = []
  for (let each = error; each instanceof Error; each = each.cause)
    if (sentences.at(-1) !== each.message) sentences.push(each.message)
  return new Error(sentences.join(': '), { cause: error })
}
