/** The server that the official suite expects, made with the official SDK v2 alone, to stand behind a gateway. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  acceptedContent,
  completable,
  createMcpHandler,
  inputRequired,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PIXEL_PNG } from '../fixture/media.ts'
import { addContentTools, addNoticeTools } from './tools.ts'
import { addRoundTools, roundState } from './rounds.ts'

function buildServer(): McpServer {
  const server = new McpServer(
    { name: 'sdk-conformance', version: '1.0.0' },
    { capabilities: { logging: {} }, requestState: { verify: roundState.verify } },
  )
  addContentTools(server)
  addNoticeTools(server)
  addRoundTools(server)
  addPrompts(server)
  addResources(server)
  return server
}

const context = z.object({ context: z.string() })

function user<C>(content: C) {
  return { role: 'user' as const, content }
}

function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt without arguments.' }, () => ({
    messages: [user({ type: 'text', text: 'This is a simple prompt for testing.' })],
  }))
  const words = ['paris', 'park', 'party']
  const typed = completable(z.string(), (value) => words.filter((word) => word.startsWith(value ?? '')))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt with two arguments.', argsSchema: z.object({ arg1: typed, arg2: z.string() }) },
    ({ arg1, arg2 }) => ({
      messages: [user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })],
    }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt that brings a resource.', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        user({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content.' } }),
        user({ type: 'text', text: 'Please process the embedded resource above.' }),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt that brings a picture.' }, () => ({
    messages: [
      user({ type: 'image', data: PIXEL_PNG, mimeType: 'image/png' }),
      user({ type: 'text', text: 'Please analyze the image above.' }),
    ],
  }))
  server.registerPrompt('test_input_required_result_prompt', { description: 'A prompt that asks first.' }, (ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'user_context', context)
    if (answer !== undefined) return { messages: [user({ type: 'text', text: `Use this context: ${answer.context}` })] }
    const message = 'What context should the prompt use?'
    return inputRequired({
      inputRequests: { user_context: inputRequired.elicit({ message, requestedSchema: context }) },
    })
  })
}

function addResources(server: McpServer): void {
  const text = { mimeType: 'text/plain' }
  server.registerResource('Static text', 'test://static-text', text, ({ href: uri }) => ({
    contents: [{ uri, ...text, text: 'This is the content of the static text resource.' }],
  }))
  server.registerResource('Static binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PIXEL_PNG }],
  }))
  server.registerResource('Watched resource', 'test://watched-resource', text, ({ href: uri }) => ({
    contents: [{ uri, ...text, text: 'Watched resource content' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('Template', template, { mimeType: 'application/json' }, ({ href: uri }, { id }) => ({
    contents: [
      {
        uri,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }))
}

/** Serves it on a free port of this machine, as the documentation of the SDK shows. */
export async function startSdkFixture(): Promise<{ readonly url: string; stop(): void }> {
  const handler = toNodeHandler(createMcpHandler(buildServer)) as RequestListener
  const host: Server = createServer(handler)
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(host.address() as AddressInfo).port}/mcp`,
    stop: () => {
      host.close()
      host.closeAllConnections()
    },
  }
}
