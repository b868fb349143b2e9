/** HTML is made by templates alone, which escape every value: no text of anyone becomes markup. */
import { expect } from 'chai'
import { Html, html, linked } from '../../src/http/html.ts'

describe('html', () => {
  it('escapes text, between tags and in attributes', () => {
    const text = `<b title="x">&'</b>`
    expect(String(html`<p title="${text}">${text}</p>`)).to.equal(
      '<p title="&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;">&lt;b title=&quot;x&quot;&gt;&amp;&#39;&lt;/b&gt;</p>',
    )
  })

  it('escapes once, what is nested and what is in a list, too', () => {
    const items = ['<', html`<i>${'&'}</i>`, ['>', 7]]
    expect(String(html`<p>${items}</p>`)).to.equal('<p>&lt;<i>&amp;</i>&gt;7</p>')
  })

  it('leaves out what is not there', () => {
    expect(String(html`<p>${undefined}${false}${[]}${''}${0}</p>`)).to.equal('<p>0</p>')
  })

  it('takes an object that looks like HTML for text', () => {
    const forged = { toString: () => '<img>' } as unknown as Html
    expect(String(html`${forged}`)).to.equal('&lt;img&gt;')
    expect(forged).not.to.be.instanceOf(Html)
  })

  for (const url of [
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:x',
    'data:text/html,x',
    '//evil.example',
    '/relative',
    'https://',
    '',
    undefined,
    7,
    {},
  ])
    it(`makes no link of ${JSON.stringify(url)}`, () => {
      expect(String(html`${linked(url, '<')}`)).to.equal('&lt;')
    })

  it('makes a link of an http or https address', () => {
    expect(String(linked('https://a.example/?"&', '<'))).to.equal(
      '<a href="https://a.example/?&quot;&amp;">&lt;</a>',
    )
    expect(String(linked('HTTP://a.example', 'a'))).to.equal('<a href="HTTP://a.example">a</a>')
  })
})
