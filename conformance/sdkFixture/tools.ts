/** Tools that answer at once, or tell something while they work. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fromJsonSchema, type McpServer, type ServerContext } from '@modelcontextprotocol/server'
import { PIXEL_PNG, SILENCE_WAV } from '../fixture/media.ts'
import { inRegion, person } from '../fixture/contentTools.ts'

const PAUSE_MS = 50

export const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

const image = { type: 'image', data: PIXEL_PNG, mimeType: 'image/png' } as const
const audio = { type: 'audio', data: SILENCE_WAV, mimeType: 'audio/wav' } as const

function resource(uri: string, mimeType: string, text: string) {
  return { type: 'resource' as const, resource: { uri, mimeType, text } }
}

export function addContentTools(server: McpServer): void {
  server.registerTool('test_simple_text', { description: 'Answers with a text.' }, () =>
    said('This is a simple text response for testing.'),
  )
  server.registerTool('test_image_content', { description: 'Answers with a picture.' }, () => ({ content: [image] }))
  server.registerTool('test_audio_content', { description: 'Answers with a sound.' }, () => ({ content: [audio] }))
  server.registerTool('test_embedded_resource', { description: 'Answers with a resource.' }, () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  }))
  server.registerTool('test_multiple_content_types', { description: 'Answers with several kinds.' }, () => ({
    content: [
      ...said('Multiple content types test:').content,
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }))
  server.registerTool('test_error_handling', { description: 'Fails, in words a model can read.' }, () => ({
    ...said('This tool intentionally returns an error for testing'),
    isError: true,
  }))
  const schema = { description: 'Shows its schema.', inputSchema: fromJsonSchema(person) }
  server.registerTool('json_schema_2020_12_tool', schema, (args) => said(JSON.stringify(args)))
  const mirrored = { description: 'Mirrors its region in a header.', inputSchema: fromJsonSchema(inRegion) }
  server.registerTool('test_x_mcp_header', mirrored, () => said('region'))
}

export function addNoticeTools(server: McpServer): void {
  server.registerTool('test_tool_with_progress', { description: 'Tells its progress.' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await sleep(PAUSE_MS)
    }
    return said('Tool with progress executed successfully')
  })
  const log = async ({ mcpReq }: ServerContext, ...messages: readonly string[]): Promise<void> => {
    for (const message of messages) {
      await mcpReq.log('info', message)
      await sleep(PAUSE_MS)
    }
  }
  server.registerTool('test_tool_with_logging', { description: 'Logs three messages.' }, async (ctx) => {
    await log(ctx, 'Tool execution started', 'Tool processing data', 'Tool execution completed')
    return said('Tool with logging executed successfully')
  })
  server.registerTool('test_logging_tool', { description: 'Logs a message.' }, async (ctx) => {
    await log(ctx, 'Running.')
    return said('Logging tool executed successfully')
  })
}
