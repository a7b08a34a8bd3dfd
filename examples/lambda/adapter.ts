/** From an event of API Gateway or of a function URL (payload version 2.0) to a `Request`, and from a `Response` to a result. */

/** What we use of an event. */
export interface LambdaEvent {
  readonly rawPath: string
  readonly rawQueryString?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly isBase64Encoded?: boolean
  readonly requestContext: { readonly domainName: string; readonly http: { readonly method: string } }
}

export interface LambdaResult {
  readonly statusCode: number
  readonly headers: Record<string, string>
  readonly body: string
}

type Fetch = (request: Request) => Promise<Response>

// #region buffered
/** The answer in one piece: no progress, no subscriptions, and no client that disconnects is seen. */
export function buffered(fetch: Fetch): (event: LambdaEvent) => Promise<LambdaResult> {
  return async (event) => {
    const response = await fetch(requestOf(event))
    return { ...headOf(response), body: await response.text() }
  }
}
// #endregion buffered

// #region streaming
/** What the runtime of Lambda has as a global. */
interface LambdaStreams {
  streamifyResponse(handler: (event: LambdaEvent, stream: NodeJS.WritableStream) => Promise<void>): unknown
  HttpResponseStream: { from(stream: NodeJS.WritableStream, head: object): NodeJS.WritableStream }
}

/** Each event as it is written. Function URLs do this with the invoke mode RESPONSE_STREAM. */
export function streaming(fetch: Fetch): unknown {
  const { awslambda } = globalThis as unknown as { awslambda: LambdaStreams }
  return awslambda.streamifyResponse(async (event, stream) => {
    const response = await fetch(requestOf(event))
    const out = awslambda.HttpResponseStream.from(stream, headOf(response))
    for await (const chunk of response.body ?? []) out.write(chunk)
    out.end()
  })
}
// #endregion streaming

function requestOf({ rawPath, rawQueryString = '', headers, body, isBase64Encoded, requestContext }: LambdaEvent) {
  const { method } = requestContext.http
  const bytes = body === undefined ? undefined : Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8')
  return new Request(`https://${requestContext.domainName}${rawPath}?${rawQueryString}`, {
    method,
    headers,
    ...(method !== 'GET' && method !== 'HEAD' && bytes !== undefined && { body: bytes }),
  })
}

function headOf({ status, headers }: Response): { statusCode: number; headers: Record<string, string> } {
  return { statusCode: status, headers: Object.fromEntries(headers) }
}
