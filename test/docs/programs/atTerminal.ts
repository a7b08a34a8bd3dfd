/** `atTerminal.ts URL TOOL`: calls a tool, asks the person at the terminal, and prints what the tool said. */
import { atTerminal, callTool } from '../../../docs/snippets/answering.ts'

const [url = '', tool = ''] = process.argv.slice(2)
const { content } = await callTool(url, atTerminal(), tool)
console.log(JSON.stringify(content))
