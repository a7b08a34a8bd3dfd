/** A program that keeps something: the notes of its caller, in memory. */
// #region server
import { createServer } from 'pannier/server'
import { z } from 'zod'

const notes: string[] = []
const server = createServer({ name: 'notes', version: '1.0.0', architecture: 'stateful' })

server.tool('add', { description: 'Adds a note.', input: z.object({ text: z.string() }) }, ({ text }) => {
  notes.push(text)
  return `You have ${notes.length} note(s).`
})
server.tool('list', { description: 'Lists the notes.' }, () => notes.join('\n') || 'You have no notes.')

await server.stdio()
// #endregion server
