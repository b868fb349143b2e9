/** Records requests and responses for display. Tokens are truncated before anything is kept. */
import { send as sendInTime } from './send.js'

const TOKEN = /[\w-]{24,}(\.[\w-]+)*/g

/** Keeps enough of a token to recognise it, and too little to use it. */
const shortened = (text) => text.replace(TOKEN, (token) => `${token.slice(0, 12)}…`)

/** Every request sent through `fetch` adds one item to `entries`. */
export function openWire() {
  const entries = []
  async function send(url, init) {
    const response = await sendInTime(url, init)
    entries.push({
      method: init.method,
      url: String(url),
      request: message(new Headers(init.headers), written(init.body)),
      status: response.status,
      statusText: response.statusText,
      response: message(response.headers, written(await response.clone().text())),
    })
    return response
  }
  return { entries, fetch: send }
}

const SHOWN = ['Authorization', 'Content-Type', 'Cache-Control', 'WWW-Authenticate']

function message(headers, body) {
  const lines = SHOWN.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`)
  return shortened([...lines, ...(body ? ['', body] : [])].join('\n'))
}

/** A form with one parameter per line, JSON with one member per line. */
function written(body) {
  if (body instanceof URLSearchParams) return [...body].map(([name, value]) => `${name}=${value}`).join('\n&')
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
