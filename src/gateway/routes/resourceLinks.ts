/** Addresses of resources in definitions and results of servers. */
import { isObject, type Json } from '../../protocol/index.ts'

type AddressOf = (uri: string) => string

/**
 * The members of a tool's `_meta` with the address of its page: those of MCP Apps, of its earlier form, and of the Apps
 * SDK.
 */
const PAGE_MEMBERS = ['ui/resourceUri', 'openai/outputTemplate']

/** The addresses of a tool's pages at its server. */
export function pagesOf(tool: Json): readonly string[] {
  const pages: string[] = []
  withPages(tool, (uri) => {
    pages.push(uri)
    return uri
  })
  return pages
}

/** A tool with the addresses of its pages replaced. */
export function withPages(tool: Json, addressOf: AddressOf): Json {
  const { _meta: meta } = tool
  if (!isObject(meta)) return tool
  const members = PAGE_MEMBERS.filter((name) => typeof meta[name] === 'string')
  const { ui } = meta
  const page = isObject(ui) && typeof ui['resourceUri'] === 'string' ? ui['resourceUri'] : undefined
  if (members.length === 0 && page === undefined) return tool
  const changed = {
    ...Object.fromEntries(members.map((name) => [name, addressOf(meta[name] as string)])),
    ...(page !== undefined && { ui: { ...(ui as Json), resourceUri: addressOf(page) } }),
  }
  return { ...tool, _meta: { ...meta, ...changed } }
}

/** A result of a tool, a prompt or a resource, with the addresses of its resources replaced. */
export function withAddresses(result: Json, addressOf: AddressOf): Json {
  const { content, messages, contents } = result
  return {
    ...result,
    ...(Array.isArray(content) && { content: content.map((item) => linked(item, addressOf)) }),
    ...(Array.isArray(contents) && { contents: contents.map((item) => addressed(item, addressOf)) }),
    ...(Array.isArray(messages) && {
      messages: messages.map((message: unknown) =>
        isObject(message) ? { ...message, content: linked(message['content'], addressOf) } : message,
      ),
    }),
  }
}

/** A link to a resource, or a resource in place. */
function linked(item: unknown, addressOf: AddressOf): unknown {
  if (!isObject(item)) return item
  if (item['type'] === 'resource_link') return addressed(item, addressOf)
  return item['type'] === 'resource' ? { ...item, resource: addressed(item['resource'], addressOf) } : item
}

function addressed(item: unknown, addressOf: AddressOf): unknown {
  return isObject(item) && typeof item['uri'] === 'string' ? { ...item, uri: addressOf(item['uri']) } : item
}
