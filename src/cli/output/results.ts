/** Results as text for people: text as it is, structured content as JSON, a line for each medium. */
import type {
  CallToolResult,
  ContentBlock,
  GetPromptResult,
  ReadResourceResult,
  ResourceContents,
} from '@modelcontextprotocol/client'
import { plainLine, plainText } from '../../client/index.ts'
import { printableJson } from './json.ts'
import type { PlaceMedium } from './media.ts'

export async function toolText(name: string, result: CallToolResult, place: PlaceMedium): Promise<string> {
  const { content, structuredContent } = result
  if (structuredContent === undefined) return joined(await blockTexts(name, content, place))
  const structured = printableJson(structuredContent)
  // Most tools repeat their structured content as text, for older clients.
  const others = content.filter((block) => block.type !== 'text' || jsonIn(block.text) !== structured)
  return joined([...(await blockTexts(name, others, place)), structured])
}

export async function promptText(
  name: string,
  { description, messages }: GetPromptResult,
  place: PlaceMedium,
): Promise<string> {
  const texts = messages.map(async ({ role, content }) => `${role}:\n${await blockText(name, content, place)}`)
  const first = description === undefined ? [] : [plainText(description)]
  return [...first, ...(await Promise.all(texts))].join('\n\n')
}

/** A single part is shown without a heading, so that it can be piped; several get a heading each. */
export async function resourceText({ contents }: ReadResourceResult, place: PlaceMedium): Promise<string> {
  const [only] = contents
  if (only !== undefined && contents.length === 1) return contentsText(only, place)
  const texts = contents.map(async (part) => `--- ${plainLine(part.uri)}\n${await contentsText(part, place)}`)
  return joined(await Promise.all(texts))
}

async function blockTexts(name: string, blocks: readonly ContentBlock[], place: PlaceMedium): Promise<string[]> {
  const texts: string[] = []
  for (const block of blocks) texts.push(await blockText(name, block, place))
  return texts
}

async function blockText(name: string, block: ContentBlock, place: PlaceMedium): Promise<string> {
  switch (block.type) {
    case 'text':
      return plainText(block.text)
    case 'image':
    case 'audio':
      return place({ kind: block.type, data: block.data, mimeType: block.mimeType, name })
    case 'resource':
      return `--- ${plainLine(block.resource.uri)}\n${await contentsText(block.resource, place)}`
    case 'resource_link':
      return `[link] ${plainLine(block.title ?? block.name)}: ${plainLine(block.uri)}`
    default:
      return `[content of an unknown type]\n${printableJson(block)}`
  }
}

function contentsText(part: ResourceContents, place: PlaceMedium): Promise<string> | string {
  if ('text' in part && typeof part.text === 'string') return plainText(part.text)
  if ('blob' in part && typeof part.blob === 'string') {
    return place({ kind: 'blob', data: part.blob, mimeType: part.mimeType, name: part.uri })
  }
  return '[empty]'
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** The text as JSON in our own layout, to compare it; undefined where it is not JSON. */
function jsonIn(text: string): string | undefined {
  try {
    return printableJson(JSON.parse(text))
  } catch {
    return undefined
  }
}
