/** A server whose tools are the operations of an HTTP API, as an OpenAPI document describes them. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { plainLine } from '../client/index.ts'
import { httpUrlFault } from '../client/internal.ts'
import { assertOptionNames, type Json, type OptionNames } from '../protocol/index.ts'
import {
  type Context,
  createServer,
  type Logger,
  type Server,
  type ServerOptions,
  type ToolOptions,
} from '../server/index.ts'
import { callApi } from './call.ts'
import { faultOf } from './check.ts'
import {
  documentOf,
  member,
  memberObject,
  memberText,
  type OpenApiDocument,
  parseDocument,
  resolved,
} from './document.ts'
import { type LeftOut, type Operation, operationsOf } from './operations.ts'
import type { HeaderValues } from './request.ts'
import { shortText } from './schemas.ts'

export interface OpenApiOptions {
  /** The base address of the API. The document does not decide where requests go. */
  url: string
  /** Headers of each request, such as credentials; or a function of the call. @default none */
  headers?: HeaderValues | ((ctx: Context) => HeaderValues | Promise<HeaderValues>)
  /** The name of the server. @default the title of the document */
  name?: string
  /** How long the API may take for an answer, in seconds. @default 60 */
  timeoutSeconds?: number
  /** The largest answer of the API, in bytes. @default 1048576 */
  maxResponseBytes?: number
  /** The keys of the server. @default as for `createServer` */
  keys?: ServerOptions['keys']
  /** The log for operators. @default as for `createServer` */
  logger?: Logger
}

const OPTIONS: OptionNames<OpenApiOptions> = {
  url: true,
  headers: true,
  name: true,
  timeoutSeconds: true,
  maxResponseBytes: true,
  keys: true,
  logger: true,
}

export interface OpenApiServer {
  readonly server: Server
  /** The operations that became no tools, with the reasons. */
  readonly leftOut: readonly LeftOut[]
  /** The credentials that the document asks for, as people write them: `the header X-API-Key`. */
  readonly credentials: readonly string[]
}

/** `document`: the text of an OpenAPI document, JSON or YAML, or its parsed value. */
export async function openApiServer(document: string | object, options: OpenApiOptions): Promise<OpenApiServer> {
  assertOptionNames(options, OPTIONS, 'openApiServer')
  const { url, headers = {}, timeoutSeconds = 60, maxResponseBytes = 1024 * 1024, keys, logger } = options
  const fault = httpUrlFault(url)
  if (fault !== undefined) throw new TypeError(`The option url ${fault}`)
  const read = typeof document === 'string' ? await parseDocument(document) : documentOf(document)
  const { operations, leftOut } = await operationsOf(read)
  const credentials = securitySchemes(read)
  const server = createServer({
    ...identityOf(read, options.name),
    pageSize: 100,
    maxResultBytes: MAX_EXPANSION * maxResponseBytes,
    caching: { cacheScope: 'public' },
    ...(keys !== undefined && { keys }),
    ...(logger !== undefined && { logger }),
  })
  const call = {
    base: new URL(url),
    timeoutMs: timeoutSeconds * 1000,
    maxResponseBytes,
    credentialsAdvice: credentialsAdvice(credentials),
  }
  for (const operation of operations) {
    server.tool(operation.name, toolOptions(operation), async (args, ctx) => {
      const own = typeof headers === 'function' ? await headers(ctx) : headers
      return callApi(operation, args, own, ctx.signal, call)
    })
  }
  return { server, leftOut, credentials }
}

/** A body is in the result as text and as structured content, and characters of JSON may be escaped twice. */
const MAX_EXPANSION = 8

function identityOf({ root }: OpenApiDocument, name: string | undefined) {
  const info = memberObject(root, 'info')
  const title = plainLine(memberText(info, 'title') ?? '', 100)
  const description = memberText(info, 'description')
  return {
    name: name ?? (title || 'openapi'),
    version: plainLine(memberText(info, 'version') ?? '', 100) || '0',
    ...(title !== '' && { title }),
    ...(description !== undefined && { instructions: shortText(description, 2000) }),
  }
}

type ArgumentsSchema = StandardSchemaV1<unknown, Json>

function toolOptions({ title, description, input, output, annotations }: Operation): ToolOptions<ArgumentsSchema> {
  return {
    description,
    annotations,
    input: schemaOf(input, (value) => faultOf(input, value)),
    ...(title !== undefined && { title }),
    // The answer was checked when it came: a fault is then a result that the model can read.
    ...(output !== undefined && { output: schemaOf(output, () => undefined) }),
  }
}

function schemaOf(json: Json, fault: (value: unknown) => string | undefined) {
  const standard: StandardSchemaV1.Props<unknown, Json> & StandardJSONSchemaV1.Props<unknown, Json> = {
    version: 1,
    vendor: 'openapi',
    validate: (value) => {
      const message = fault(value)
      return message === undefined ? { value: value as Json } : { issues: [{ message }] }
    },
    jsonSchema: { input: () => json, output: () => json },
  }
  return { '~standard': standard }
}

// The security schemes of a document are reported, and never decide which credentials are sent.
const MAX_SCHEMES = 5

/** For the error of an API that refuses a call: ` Its document asks for: …`; empty if it asks for nothing. */
function credentialsAdvice(schemes: readonly string[]): string {
  return schemes.length === 0 ? '' : ` Its document asks for: ${schemes.join('; ')}.`
}

/** The schemes of a document, as people write them: `the header X-API-Key`. */
function securitySchemes(document: OpenApiDocument): readonly string[] {
  const schemes = Object.values(memberObject(memberObject(document.root, 'components'), 'securitySchemes'))
  const texts = new Set(schemes.map((scheme) => schemeText(document, scheme)))
  return [...texts].filter((text) => text !== '').slice(0, MAX_SCHEMES)
}

function schemeText(document: OpenApiDocument, value: unknown): string {
  const scheme = readable(document, value)
  const name = plainLine(memberText(scheme, 'name') ?? '', 60)
  switch (member(scheme, 'type')) {
    case 'apiKey': {
      const place =
        memberText(scheme, 'in') === 'query' ? 'query parameter' : plainLine(memberText(scheme, 'in') ?? '', 10)
      return `the ${place} ${name}`
    }
    case 'http':
      return `the header Authorization with "${plainLine(memberText(scheme, 'scheme') ?? '', 30)}"`
    case 'oauth2':
      return 'a token of OAuth 2.0'
    case 'openIdConnect':
      return 'a token of OpenID Connect'
    case 'mutualTLS':
      return 'a client certificate'
    default:
      return ''
  }
}

function readable(document: OpenApiDocument, value: unknown): unknown {
  try {
    return resolved(document, value)
  } catch {
    return undefined
  }
}
