/** What the client under test does in each scenario of the suite. All of it goes through `connect`, with every layer. */
import {
  type Client,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  DpopSession,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from '@modelcontextprotocol/client'
import { type Authorizer, type ConnectOptions, connect, defaults, folders, model } from 'pannier/client'
import { type Context, texts } from './context.ts'
import { headlessLogin, workloadLogin } from './headlessLogin.ts'

export type Scenario = (url: string, context: Context) => Promise<void>

/** Some mocks of the suite answer neither `server/discover` nor `initialize`; what they would say is told here. */
const KNOWN_MODERN: ConnectOptions = {
  prior: {
    kind: 'modern',
    discover: {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, resources: {}, prompts: {} },
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
    },
  },
}

const ask = defaults()
const answerAll: ConnectOptions = {
  answerers: {
    form: ask,
    url: ask,
    sampling: model(() => ({ model: 'none', content: 'Nothing.' })),
    roots: folders([import.meta.dirname]),
  },
}

async function using(url: string, options: ConnectOptions, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = await connect(url, { name: 'pannier-conformance', version: '1.0.0', ...options })
  try {
    await work(client)
  } finally {
    await client.close()
  }
}

const listTools: Scenario = (url) => using(url, {}, (client) => client.listTools())

const callFirst =
  (name: string, args = {}, options: ConnectOptions = {}): Scenario =>
  (url) =>
    using(url, options, async (client) => {
      await client.listTools()
      await client.callTool({ name, arguments: args })
    })

const useEachKind: Scenario = (url) =>
  using(url, KNOWN_MODERN, async (client) => {
    for (const { name } of (await client.listTools()).tools) await client.callTool({ name, arguments: {} })
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri })
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name, arguments: {} })
  })

const callAsTold: Scenario = (url, context) =>
  using(url, KNOWN_MODERN, async (client) => {
    await client.listTools()
    for (const call of context.toolCalls) await client.callTool(call)
  })

/** Calls whatever the list still has: the invalid tools are gone from it. */
const callAllListed: Scenario = (url) =>
  using(url, KNOWN_MODERN, async (client) => {
    for (const { name } of (await client.listTools()).tools) {
      await client.callTool({ name, arguments: { region: 'us-west1' } })
    }
  })

const runRounds: Scenario = (url) => {
  const answer = { action: 'accept', content: { confirmed: true } }
  const options = { ...KNOWN_MODERN, answerers: { form: () => answer } }
  return using(url, options, async (client) => {
    for (const name of ['test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated']) {
      await client.callTool({ name, arguments: {} })
    }
    // The SDK refuses a result without resultType, which this revision requires; what counts is that nothing is sent.
    await client.callTool({ name: 'test_mrtr_no_result_type', arguments: {} }).catch(() => undefined)
  })
}

const sendSchemaBack: Scenario = (url) =>
  using(url, {}, async (client) => {
    const { tools } = await client.listTools()
    const tool = tools.find(({ name }) => name === 'json_schema_2020_12_tool')
    await client.callTool({ name: 'json_schema_echo', arguments: { schema: tool?.inputSchema } })
  })

const logIn =
  (authorizer: (context: Context) => Authorizer | Promise<Authorizer>): Scenario =>
  async (url, context) =>
    using(url, { authorizer: await authorizer(context) }, async (client) => {
      await client.listTools()
      await client.callTool({ name: 'test-tool', arguments: {} })
    })

const logInOnly =
  (authorizer: (context: Context) => Authorizer): Scenario =>
  (url, context) =>
    using(url, { authorizer: authorizer(context) }, (client) => client.listTools())

function crossAppAccess(context: Context): Authorizer {
  const given = texts(context, 'client_id', 'client_secret', 'idp_client_id', 'idp_id_token', 'idp_token_endpoint')
  return new CrossAppAccessProvider({
    clientId: given.client_id,
    clientSecret: given.client_secret,
    assertion: async ({ authorizationServerUrl, resourceUrl, fetchFn }) => {
      const { jwtAuthGrant } = await requestJwtAuthorizationGrant({
        tokenEndpoint: given.idp_token_endpoint,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: given.idp_id_token,
        clientId: given.idp_client_id,
        fetchFn,
      })
      return jwtAuthGrant
    },
  })
}

const byName: Readonly<Record<string, Scenario>> = {
  initialize: listTools,
  tools_call: callFirst('add_numbers', { a: 5, b: 3 }),
  'elicitation-sep1034-client-defaults': callFirst('test_client_elicitation_defaults', {}, answerAll),
  'sse-retry': callFirst('test_reconnection'),
  'request-metadata': (url) => using(url, answerAll, async () => undefined),
  'http-standard-headers': useEachKind,
  'http-custom-headers': callAsTold,
  'http-invalid-tool-headers': callAllListed,
  'sep-2322-client-request-state': runRounds,
  'json-schema-ref-no-deref': listTools,
  'json-schema-2020-12-preservation': sendSchemaBack,
  'auth/pre-registration': logIn((context) => headlessLogin(texts(context, 'client_id', 'client_secret'))),
  'auth/client-credentials-basic': logInOnly((context) => {
    const given = texts(context, 'client_id', 'client_secret')
    return new ClientCredentialsProvider({ clientId: given.client_id, clientSecret: given.client_secret })
  }),
  'auth/client-credentials-jwt': logInOnly((context) => {
    const given = texts(context, 'client_id', 'private_key_pem', 'signing_algorithm')
    return new PrivateKeyJwtProvider({
      clientId: given.client_id,
      privateKey: given.private_key_pem,
      algorithm: given.signing_algorithm,
    })
  }),
  'auth/dpop': logIn(async () => headlessLogin(undefined, await DpopSession.create())),
  'auth/dpop-nonce': logIn(async () => headlessLogin(undefined, await DpopSession.create())),
  'auth/wif-jwt-bearer': logInOnly((context) => {
    const given = texts(context, 'client_id', 'valid_jwt')
    return workloadLogin(given.client_id, given.valid_jwt)
  }),
  'auth/enterprise-managed-authorization': logInOnly(crossAppAccess),
}

export function scenarioOf(name: string): Scenario | undefined {
  return byName[name] ?? (name.startsWith('auth/') ? logIn(() => headlessLogin()) : undefined)
}
