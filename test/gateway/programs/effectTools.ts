/** The tools of fixtures/effectTools.ts on standard input and output; what they do is written to the file EFFECTS. */
import { appendFileSync } from 'node:fs'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { effectTools } from '../fixtures/effectTools.ts'

const file = process.env['EFFECTS'] ?? ''
const push = (effect: string): void => appendFileSync(file, `${process.pid} ${effect}\n`)

await effectTools({ push }).connect(new StdioServerTransport())
