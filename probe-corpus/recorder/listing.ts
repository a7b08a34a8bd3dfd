/** What a server lists in a session of the official client, cut down to what the probe reads. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Json } from 'pannier/client'
import { isObject } from '../../src/protocol/index.ts'
import type { Recording } from '../recordings.ts'
import type { Program } from '../serverProcess.ts'

export type Listing = Pick<Recording, 'capabilities' | 'instructions' | 'tools'>

const LIST_MS = 20_000
const MAX_PAGES = 20
const MAX_DESCRIPTION = 500
const MAX_PARAMETER = 100
const MAX_INSTRUCTIONS = 1_000
const MAX_CHOICES = 30

export async function listingOf({ command, args, env, cwd }: Program): Promise<Listing> {
  const client = new Client({ name: 'recorder', version: '1.0.0' }, { capabilities: {} })
  const transport = new StdioClientTransport({ command, args: [...args], env, cwd, stderr: 'ignore' })
  try {
    await client.connect(transport, { timeout: LIST_MS })
    const instructions = client.getInstructions()?.slice(0, MAX_INSTRUCTIONS)
    return {
      capabilities: { ...client.getServerCapabilities() },
      ...(instructions !== undefined && { instructions }),
      tools: await listedTools(client),
    }
  } finally {
    await client.close()
  }
}

async function listedTools(client: Client): Promise<readonly Json[]> {
  const tools: Json[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor }
    // Read without the SDK's schema of a tool: what is listed counts, also where it is not valid.
    const result = await client.request({ method: 'tools/list', params }, ResultSchema, { timeout: LIST_MS })
    const { tools: listed, nextCursor } = result
    if (Array.isArray(listed)) tools.push(...listed.filter(isObject).map(cutTool))
    cursor = nextCursor
    if (typeof cursor !== 'string' || cursor === '') break
  }
  return tools
}

function cutTool({ name, description, inputSchema, outputSchema, annotations, execution }: Json): Json {
  return {
    name,
    ...(typeof description === 'string' && { description: description.slice(0, MAX_DESCRIPTION) }),
    inputSchema: cutSchema(inputSchema),
    ...(isObject(outputSchema) && { outputSchema: cutSchema(outputSchema) }),
    ...(isObject(annotations) && { annotations }),
    ...(isObject(execution) && { execution }),
  }
}

/** The names of properties, with the beginning of what is said of them and their choices. */
function cutSchema(schema: unknown): Json {
  const { properties, required } = isObject(schema) ? schema : {}
  const cut = Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => {
    const { description, enum: choices } = isObject(property) ? property : {}
    const kept = {
      ...(typeof description === 'string' && { description: description.slice(0, MAX_PARAMETER) }),
      ...(Array.isArray(choices) && { enum: choices.slice(0, MAX_CHOICES) }),
    }
    return [name, kept]
  })
  return { properties: Object.fromEntries(cut), ...(Array.isArray(required) && { required }) }
}
