/** The clients, each with a folder in `clients` that has its packages and its driver. */
import { type Era, type Place, PLACES } from './driver.ts'
import type { Leg } from './outcome.ts'

export interface ClientEntry {
  /** Its folder. */
  readonly name: string
  /** The package that is tried; others in its folder are what it needs beside it. */
  readonly package: string
  /** Where it is tried, and in which eras: `undefined` where it cannot be told one. */
  readonly places: Readonly<Partial<Record<Place, readonly (Era | undefined)[]>>>
}

const BOTH: readonly Era[] = ['session', 'stateless']
const ITS_OWN: readonly undefined[] = [undefined]

const EVERYWHERE = { http: ITS_OWN, two: ITS_OWN, stdio: ITS_OWN }
const EVERYWHERE_IN_BOTH = { http: BOTH, two: BOTH, stdio: BOTH }

const SDK_1 = '@modelcontextprotocol/sdk'
const SDK_2 = '@modelcontextprotocol/client'
const INSPECTOR = '@modelcontextprotocol/inspector'

export const CLIENTS: readonly ClientEntry[] = [
  { name: 'sdk-1.12', package: SDK_1, places: EVERYWHERE },
  { name: 'sdk-1.20', package: SDK_1, places: EVERYWHERE },
  { name: 'sdk-1.25', package: SDK_1, places: EVERYWHERE },
  { name: 'sdk-1.32', package: SDK_1, places: EVERYWHERE },
  { name: 'sdk-2.0', package: SDK_2, places: EVERYWHERE_IN_BOTH },
  { name: 'sdk-2.4', package: SDK_2, places: EVERYWHERE_IN_BOTH },
  // In the stateless era it leaves the sending to its host; our driver does that over HTTP only.
  {
    name: 'ext-tasks',
    package: '@modelcontextprotocol/ext-tasks',
    places: { http: BOTH, two: BOTH, stdio: ['session'] },
  },
  { name: 'ai-sdk', package: '@ai-sdk/mcp', places: EVERYWHERE_IN_BOTH },
  { name: 'langchain', package: '@langchain/mcp-adapters', places: EVERYWHERE },
  { name: 'openai-agents', package: '@openai/agents', places: EVERYWHERE },
  { name: 'mastra', package: '@mastra/mcp', places: EVERYWHERE_IN_BOTH },
  { name: 'mcp-use', package: 'mcp-use', places: EVERYWHERE },
  { name: 'mcporter', package: 'mcporter', places: EVERYWHERE },
  { name: 'inspector-0', package: INSPECTOR, places: EVERYWHERE },
  { name: 'inspector-1', package: INSPECTOR, places: EVERYWHERE },
  { name: 'inspector-2', package: INSPECTOR, places: EVERYWHERE_IN_BOTH },
  { name: 'mcp-remote', package: 'mcp-remote', places: { http: BOTH, two: BOTH } },
  { name: 'mcp-proxy', package: 'mcp-proxy', places: { stdio: BOTH } },
  { name: 'supergateway', package: 'supergateway', places: EVERYWHERE },
]

export function legsOf({ name, places }: ClientEntry): readonly Leg[] {
  return PLACES.flatMap((place) => (places[place] ?? []).map((era) => ({ client: name, place, era })))
}
