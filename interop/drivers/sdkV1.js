/** The official SDK 1.x, as a host would use it. The module `types` differs between versions. */
import { textOf } from './textOf.js'

/** @returns {import('../driver.ts').Driver} */
export function sdkV1Driver({ Client, StreamableHTTPClientTransport, StdioClientTransport, types }) {
  return {
    async open(target, { answers }) {
      const client = await connect({ Client, types, answers }, () =>
        'url' in target
          ? new StreamableHTTPClientTransport(new URL(target.url))
          : new StdioClientTransport({ ...target, args: [...target.args], stderr: 'ignore' }),
      )
      return connectionOf(client)
    },
  }
}

async function connect({ Client, types, answers }, openTransport) {
  const { ElicitRequestSchema, CreateMessageRequestSchema } = types
  const canElicit = ElicitRequestSchema !== undefined
  const capabilities = { sampling: {}, ...(canElicit && { elicitation: {} }) }
  const client = new Client({ name: 'sdk-v1', version: '1.0.0' }, { capabilities })
  if (canElicit) client.setRequestHandler(ElicitRequestSchema, answers.elicit)
  client.setRequestHandler(CreateMessageRequestSchema, answers.sample)
  await client.connect(openTransport())
  return client
}

/** @returns {import('../driver.ts').Connection} */
function connectionOf(client) {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, { signal, onProgress }) => {
      const onprogress = onProgress && (({ progress }) => onProgress(progress))
      const options = { ...(signal && { signal }), ...(onprogress && { onprogress }) }
      return textOf(await client.callTool({ name, arguments: args }, undefined, options))
    },
    ...(client.experimental?.tasks && { callAsTask: (name) => callAsTask(client, name) }),
    close: () => client.close(),
  }
}

async function callAsTask(client, name) {
  await client.listTools() // from the list it knows that the tool runs as a task
  for await (const message of client.experimental.tasks.callToolStream({ name, arguments: {} })) {
    if (message.type === 'result') return textOf(message.result)
    if (message.type === 'error') throw message.error
  }
  throw new Error('The stream of the task ended without a result.')
}
