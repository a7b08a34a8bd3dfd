/** The kitchen of the official SDK v2: `stdio`, or HTTP without sessions, with its address in its first line. */
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { startSdkHost } from '../../sdk/fixtures/host.ts'
import { makeSdkV2Server } from '../fixtures/servers/sdkV2.ts'

if (process.argv.includes('stdio')) serveStdio(makeSdkV2Server)
else process.stdout.write(`${(await startSdkHost(makeSdkV2Server)).modern.href}\n`)
