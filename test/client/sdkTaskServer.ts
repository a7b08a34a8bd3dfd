/** A server of the official SDK v1 with its own, experimental tasks of the revision 2025-11-25. */
import {
  type CreateTaskRequestHandlerExtra,
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/index.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type CallToolResult, ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'

type Extra = CreateTaskRequestHandlerExtra
type Work = (taskId: string, extra: Extra) => Promise<CallToolResult>

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] })
const form = {
  message: 'For whom?',
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] },
}

const works: Record<string, Work> = {
  quick: async (taskId, { taskStore }) => {
    await taskStore.updateTaskStatus(taskId, 'working', 'nearly there')
    return text('quick')
  },
  greet: async (taskId, { sendRequest }) => {
    // The SDK's types leave out what its own handlers pass on.
    const related = { relatedTask: { taskId } } as object
    const { content } = await sendRequest({ method: 'elicitation/create', params: form }, ElicitResultSchema, related)
    return text(`Dear ${String(content?.['name'])}`)
  },
  fails: async () => ({ ...text('Out of paint.'), isError: true }),
  endless: () => new Promise(() => undefined),
}

/** One connection to it. */
export function sdkTaskServer(): object {
  const capabilities = { tasks: { cancel: {}, requests: { tools: { call: {} } } } }
  const tasks = { taskStore: new InMemoryTaskStore(), taskMessageQueue: new InMemoryTaskMessageQueue() }
  const server = new McpServer({ name: 'sdk-tasks', version: '1' }, { capabilities, ...tasks })
  for (const [name, work] of Object.entries(works)) offer(server, name, work)
  server.registerTool('plain', { description: 'Never a task.' }, () => text('at once'))
  const [near, far] = InMemoryTransport.createLinkedPair()
  void server.connect(far)
  return near
}

function offer(server: McpServer, name: string, work: Work): void {
  const config = { description: name, execution: { taskSupport: 'required' } } as const
  server.experimental.tasks.registerToolTask(name, config, {
    createTask: async (extra) => {
      const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 50 })
      void run(task.taskId, work, extra)
      return { task }
    },
    getTask: async ({ taskId, taskStore }) => (await taskStore.getTask(taskId)) as never,
    getTaskResult: async ({ taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as CallToolResult,
  })
}

async function run(taskId: string, work: Work, extra: Extra): Promise<void> {
  const result = await work(taskId, extra)
  await extra.taskStore.storeTaskResult(taskId, result.isError ? 'failed' : 'completed', result)
}
