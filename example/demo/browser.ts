/** The parts of a browser that signing in needs: redirects, cookies and forms. */

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

export class Browser {
  readonly #fetch: typeof fetch
  readonly #application: string
  #cookies: Cookie[] = []
  #page = ''
  #requests = 0

  /** `application` is the redirect URI of an application that the demo plays: the browser stops there, without a request. */
  constructor(send: typeof fetch, application = '') {
    this.#fetch = send
    this.#application = application
  }

  /** The HTML of the page that is open. */
  get page(): string {
    return this.#page
  }

  /** How many it has sent so far. */
  get requests(): number {
    return this.#requests
  }

  /** Opens a page, or posts a form to it, follows the redirects, and resolves to the final address. */
  async visit(start: URL, form?: Readonly<Record<string, string>>): Promise<URL> {
    let url = start
    let body = form && new URLSearchParams(form)
    for (;;) {
      const method = body ? 'POST' : 'GET'
      // What a browser says of the forms of a page of the same origin.
      const headers = { cookie: this.cookiesFor(url), ...(body && { 'sec-fetch-site': 'same-origin' }) }
      const response = await this.#fetch(url, { method, headers, body, redirect: 'manual' })
      this.#requests += 1
      for (const line of response.headers.getSetCookie()) this.#keep(line)
      const location = response.headers.get('location')
      if (!response.ok && !location) throw new Error(`${url.pathname} responded with ${response.status}`)
      this.#page = await response.text()
      if (!location) return url
      url = new URL(location, url)
      body = undefined
      if (url.origin + url.pathname === this.#application) return url
    }
  }

  /** What it sends to an address. Cookies know no ports, and everything is at one host here. */
  cookiesFor({ pathname }: URL): string {
    const sent = this.#cookies.filter(({ path }) => pathname.startsWith(path))
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    const path = /; *path=([^;]*)/i.exec(line)?.[1] ?? '/'
    this.#cookies = this.#cookies.filter((cookie) => cookie.name !== name || cookie.path !== path)
    // An empty value is how the provider deletes a cookie.
    if (value) this.#cookies.push({ name, value, path })
  }
}
