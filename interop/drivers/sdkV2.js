/** The official SDK 2.x, as a host would use it, in the era that it is told to speak. */
import { textOf } from './textOf.js'

const MODES = { session: 'legacy', stateless: { pin: '2026-07-28' } }

/** @returns {import('../driver.ts').Driver} */
export function sdkV2Driver(sdk) {
  return {
    async open(target, options) {
      return connectionOf(await connectV2(sdk, target, options))
    },
  }
}

export async function connectV2(sdk, target, { answers, era }, more = {}) {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport } = sdk
  const capabilities = { sampling: {}, elicitation: { form: {} }, ...more }
  const versionNegotiation = { mode: MODES[era] }
  const client = new Client({ name: 'sdk-v2', version: '1.0.0' }, { capabilities, versionNegotiation })
  client.setRequestHandler('elicitation/create', answers.elicit)
  client.setRequestHandler('sampling/createMessage', answers.sample)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url))
      : new StdioClientTransport({ ...target, args: [...target.args], stderr: 'ignore' })
  await client.connect(transport)
  return client
}

/** @returns {import('../driver.ts').Connection} */
export function connectionOf(client) {
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, { signal, onProgress }) => {
      const onprogress = onProgress && (({ progress }) => onProgress(progress))
      const options = { ...(signal && { signal }), ...(onprogress && { onprogress }) }
      return textOf(await client.callTool({ name, arguments: args }, options))
    },
    close: () => client.close(),
  }
}
