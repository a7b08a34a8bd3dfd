/** The kitchen of the official SDK v2: `stdio`, or HTTP without sessions, with its address in its first line. */
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { startSdkHost } from '../../sdk/host.ts'
import { makeKitchenV2 } from '../kitchenV2.ts'

if (process.argv.includes('stdio')) serveStdio(makeKitchenV2)
else process.stdout.write(`${(await startSdkHost(makeKitchenV2)).modern.href}\n`)
